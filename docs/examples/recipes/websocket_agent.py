import os

import aiohttp

from pytest_convoprobe import TargetUnavailable

URL = os.environ.get("AGENT_URL", "ws://localhost:8000/chat")


class Agent:
    async def __aenter__(self):
        self.http = aiohttp.ClientSession()
        try:
            self.socket = await self.http.ws_connect(URL)
        except BaseException:
            await self.http.close()
            raise
        return self

    async def __aexit__(self, *exception):
        await self.socket.close()
        await self.http.close()

    async def send(self, message):
        await self.socket.send_json({"message": message})
        answer = await self.socket.receive()
        if answer.type is not aiohttp.WSMsgType.TEXT:  # the service has closed the connection
            raise TargetUnavailable(f"the websocket was closed: {answer.data} {answer.extra or ''}")
        return answer.json()
