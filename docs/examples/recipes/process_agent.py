import asyncio
import json
import sys
from asyncio.subprocess import PIPE

from pytest_convoprobe import TargetUnavailable

COMMAND = [sys.executable, "agent.py"]
LONGEST_LINE = 2**24


class Agent:
    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE
        )
        return self

    async def __aexit__(self, *exception):
        self.process.stdin.close()  # most programs end with their input
        try:
            await asyncio.wait_for(self.process.wait(), 1)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()

    async def send(self, message):
        self.process.stdin.write(json.dumps({"message": message}).encode() + b"\n")
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            raise TargetUnavailable(f"the process has ended, with status {await self.process.wait()}")
        return json.loads(line)
