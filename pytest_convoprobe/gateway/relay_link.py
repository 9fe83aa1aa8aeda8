"""A session's end of its connections to relays: they pass it the calls of services that they have started."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from ..own_traffic import begun_unlogged
from ..project_code.agent_environment import own_variable
from .paths import VARIABLES
from .relay_file import found_relays
from .turns import same_message

FROM_RELAY = "X-Convoprobe-Relay"
"""The header with the wish of a relay."""
CLAIM = "claim"
"""Say to which conversation the request belongs, and how sure that is."""
REFUSE = "refuse"
"""No session has claimed the request."""
SESSIONS, TURNS = "_sessions", "_turns"
"""What a session asks a relay for: to be there, and to be alone with a message. Both last as the answer."""

_CONNECTING = 5.0

INSIDE = (
    "this process was itself started by `convoprobe gateway`, so that its own model calls would come back to "
    "it: start only the agent's service with that command, and pytest beside it"
)


class _Link:
    """One connection. `there` is set once the relay knows this session."""

    def __init__(self) -> None:
        self.there = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def ready(self) -> None:
        """Wait until it is there, or couldn't be made."""
        waiting = asyncio.ensure_future(self.there.wait())
        tasks = {waiting, *([self.task] if self.task is not None else [])}
        await asyncio.wait(tasks, timeout=_CONNECTING, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()


class RelayLinks:
    """The connections to the relays of a project. Used on the loop of the gateway."""

    def __init__(self, root: Path | None, url: str) -> None:
        self._root = root
        self._url = url
        self._links: dict[str, _Link] = {}
        self._client: aiohttp.ClientSession | None = None
        self.problem = ""
        """Why no conversation here can say anything about its agent."""

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of the relays that know this session."""
        return tuple(sorted(url for url, link in self._links.items() if link.there.is_set()))

    async def join(self) -> None:
        """Be there for all relays that have come since the last time."""
        for url in found_relays(self._root) if self._root is not None else ():
            if url not in self._links:
                self._begin(url)
            await self._links[url].ready()

    def _begin(self, url: str) -> None:
        link = self._links[url] = _Link()
        link.task = begun_unlogged(self._stay(url, link.there))
        link.task.add_done_callback(lambda _: self._links.pop(url, None))
        if any(own_variable(name) == url for names in VARIABLES.values() for name in names):
            self.problem = INSIDE

    async def _stay(self, url: str, there: asyncio.Event) -> None:
        """Be known to a relay until it ends: it forgets a session whose connection is closed."""
        with contextlib.suppress(aiohttp.ClientError, OSError):
            asking = self._http().post(f"{url}/{SESSIONS}", json={"url": self._url})
            async with asking as answer:
                if answer.status == 200:
                    there.set()
                    await answer.content.read()

    @asynccontextmanager
    async def alone(self, message: str) -> AsyncIterator[None]:
        """The time in which no other session of these relays gets an equal message."""
        async with contextlib.AsyncExitStack() as stack:
            # Always in one order, or two sessions could wait for each other.
            for url in self.urls:
                with contextlib.suppress(aiohttp.ClientError, OSError):  # it has ended meanwhile
                    body = {"message": same_message(message)}
                    await stack.enter_async_context(self._http().post(f"{url}/{TURNS}", json=body))
            yield

    async def aclose(self) -> None:
        """Leave all relays."""
        for link in list(self._links.values()):
            if link.task is not None:
                link.task.cancel()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _http(self) -> aiohttp.ClientSession:
        if self._client is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING)
            self._client = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout)
        return self._client
