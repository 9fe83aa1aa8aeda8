"""The MCP servers of a target: started for a conversation or shared by a session, and their tools."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from ...cutting import MOST_TEXT, at_most, noticed
from ...errors import SettingsError, TargetStartError, TargetUnavailable
from ...llm.port import ToolRequest, ToolSpec
from ...project_code.agent_loops import Home
from ...project_code.clock import current_clock
from ...settings.mcp_settings import McpServer
from ...suggest import did_you_mean
from ...threads import start_call
from ...tool_patterns import matches
from ...transcript import PendingRequest, ToolCall
from ..plain_values import clean_text, plain
from ..reply_parts import as_arguments
from .connection import Connection
from .errors import Closed, NoResult, NotStarted
from .requests import RequestLog, Sample
from .results import error_of, value_of
from .sdk import ListedTool, Sdk
from .tool_names import Naming, callable_name

_STARTS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
_MOST_STARTS = max(2, os.cpu_count() or 2)


class McpServers:
    """The servers in a target's settings; commands run below `root`."""

    def __init__(self, servers: Mapping[str, McpServer], root: Path) -> None:
        self._servers = servers
        self._root = root
        self._sdk: Sdk | None = None
        self._shared: dict[str, Connection] = {}
        self._starts: dict[str, asyncio.Task[Connection]] = {}
        self.specs: tuple[ToolSpec, ...] | None = None
        """The tools that were listed last; None as long as no server was started."""

    async def open(self, taken: Collection[str], sample: Sample) -> McpTools:
        """The tools of all servers for one conversation.

        `taken` are names that other tools have. `sample` writes texts for servers that may ask for them.
        Raises `TargetStartError` for a server that can't be used, and `SettingsError`.
        """
        opened = await self._connections()
        try:
            tools = _named(opened, taken)
        except BaseException:
            await _close(opened)
            raise
        self.specs = tuple(tool.spec for tool in tools.values())
        return McpTools(tools, opened, RequestLog(sample))

    async def aclose(self) -> None:
        """End the servers that conversations have shared."""
        here = asyncio.get_running_loop()
        starts, self._starts = self._starts, {}
        # What belongs to a loop that is gone has gone with it.
        await _undone([start for start in starts.values() if start.get_loop() is here and not start.done()])
        shared, self._shared = self._shared, {}
        await asyncio.gather(*(one.close() for one in shared.values() if one.loop is here))

    async def _connections(self) -> list[Connection]:
        sdk = await self._package()
        starts = [
            asyncio.ensure_future(self._connection(name, settings, sdk))
            for name, settings in self._servers.items()
        ]
        try:
            # Not `gather`, which cancels them too: a second time would break off their cleaning up.
            await asyncio.wait(starts, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            await _undone(starts)
            raise
        if all(start.done() and not start.exception() for start in starts):
            return [start.result() for start in starts]
        failed = next(start for start in starts if start.done() and start.exception())
        await _undone(starts)
        return [failed.result()]  # it raises

    async def _package(self) -> Sdk:
        """The package, imported in a thread: that takes a second, and others talk meanwhile."""
        if self._sdk is None:
            try:
                self._sdk = await start_call(Sdk).future
            except NotStarted as error:
                raise TargetStartError(str(error)) from None
        return self._sdk

    async def _connection(self, name: str, settings: McpServer, sdk: Sdk) -> Connection:
        if settings.lives == "conversation":
            return await _opened(Connection(name, settings, self._root, sdk))
        here = asyncio.get_running_loop()
        shared = self._shared.get(name)
        if shared is not None and not shared.is_over and shared.loop is here:
            return shared
        start = self._starts.get(name)
        if start is None or start.done() or start.get_loop() is not here:
            # A task of its own: others wait for it too, and share its failure instead of waiting in turn.
            start = self._starts[name] = asyncio.ensure_future(self._share(name, settings, sdk))
        try:
            return await asyncio.shield(start)
        except TargetStartError as error:
            raise TargetStartError(str(error), trace=error.trace) from None

    async def _share(self, name: str, settings: McpServer, sdk: Sdk) -> Connection:
        old = self._shared.pop(name, None)
        if old is not None and old.loop is asyncio.get_running_loop():
            await old.close()
        # Kept only once it is open: a failed start is tried again by the next conversation.
        connection = await _opened(Connection(name, settings, self._root, sdk))
        self._shared[name] = connection
        return connection


async def _undone(starts: Sequence[asyncio.Future[Connection]]) -> None:
    """End what was started, and what is just being started."""
    for start in starts:
        start.cancel()
    ended = await asyncio.gather(*starts, return_exceptions=True)
    await _close([one for one in ended if isinstance(one, Connection)])


async def _opened(connection: Connection) -> Connection:
    """Open it when there is room: many servers that start at once are slow to start, each of them."""
    loop = asyncio.get_running_loop()
    room = _STARTS.setdefault(loop, asyncio.Semaphore(_MOST_STARTS))
    with current_clock().stop():  # to wait for the others is no time of this conversation's
        await room.acquire()
    try:
        await connection.open()
    finally:
        room.release()
    return connection


async def _close(connections: Iterable[Connection]) -> None:
    """End those that belong to one conversation."""
    own = [one for one in connections if one.settings.lives == "conversation"]
    await asyncio.gather(*(one.close() for one in own))


@dataclass(frozen=True)
class _Tool:
    spec: ToolSpec
    name: str
    """What the server calls it."""
    connection: Connection


def _named(connections: Iterable[Connection], taken: Collection[str]) -> dict[str, _Tool]:
    """The tools that the model gets, by the names that it gets them under."""
    offered = [(one, tool) for one in connections for tool in _allowed(one)]
    counts = Counter([*taken, *(callable_name(tool.name) for _, tool in offered)])
    found: dict[str, _Tool] = {}
    for connection, tool in offered:
        naming = Naming(connection.name, connection.settings.prefix)
        name = naming.of(tool.name, clashes=counts[callable_name(tool.name)] > 1)
        if name in found or name in taken:
            raise TargetStartError(
                f"two tools are called `{name}`, one of them from the MCP server `{connection.name}`: leave "
                "one out with `deny`, or give its server another name"
            )
        found[name] = _Tool(ToolSpec(name, tool.description, tool.schema), tool.name, connection)
    return found


def _allowed(connection: Connection) -> list[ListedTool]:
    """The server's tools that its settings allow. Raises `SettingsError` for a name that means none."""
    settings, tools = connection.settings, connection.tools
    names = [tool.name for tool in tools]
    if not names:
        raise TargetStartError(f"the MCP server `{connection.name}` lists no tools")
    for key in ("allow", "deny"):
        for index, pattern in enumerate(getattr(settings, key) or ()):
            if not any(matches(pattern, name) for name in names):
                raise SettingsError.of(
                    f"the server has no tool `{pattern}`{did_you_mean(pattern, names) or _listed(names)}",
                    path=f"target.mcp_servers.{connection.name}.{key}[{index}]",
                )
    return [tool for tool in tools if _is_allowed(settings, tool.name)]


def _is_allowed(settings: McpServer, name: str) -> bool:
    allowed = settings.allow is None or any(matches(one, name) for one in settings.allow)
    return allowed and not any(matches(one, name) for one in settings.deny)


def _listed(names: list[str]) -> str:
    return f"; its tools are {', '.join(f'`{name}`' for name in names[:12])}{' …' if len(names) > 12 else ''}"


class McpTools:
    """The tools of the servers, for one conversation; a `ServedTools`."""

    def __init__(self, tools: Mapping[str, _Tool], connections: list[Connection], asked: RequestLog) -> None:
        self._tools = tools
        self._connections = connections
        self._asked = asked
        self._lost: TargetUnavailable | None = None
        self.specs = tuple(tool.spec for tool in tools.values())

    async def call(
        self, request: ToolRequest, home: Home | None = None, most_text: int = MOST_TEXT
    ) -> ToolCall:
        """Make a call; see `ToolSource`. What a server says is an error is the tool's error."""
        tool, arguments = self._tools[request.name], as_arguments(request.arguments)
        made = partial(ToolCall, request.name, arguments)
        started = time.perf_counter()
        try:
            result = await tool.connection.call(tool.name, arguments, self._asked)
        except NoResult as error:
            return made(error=clean_text(str(error)), latency=time.perf_counter() - started)
        except Closed:
            raise await tool.connection.lost() from None
        latency = time.perf_counter() - started
        with at_most(most_text):
            if (failed := error_of(result)) is not None:
                words, was_cut = noticed(lambda: clean_text(failed))
                return made(error=words, latency=latency, cut=_cut(was_cut))
            value, was_cut = noticed(lambda: _plain(value_of(result)))
        return made(result=value, latency=latency, cut=_cut(was_cut))

    async def require_all(self) -> None:
        """Raise `TargetUnavailable` if a server is lost: the agent isn't the one that is tested any more."""
        for connection in self._connections:
            if connection.is_over:
                raise await connection.lost()

    def asked(self) -> tuple[PendingRequest, ...]:
        """What the servers have asked for since the last time."""
        return self._asked.taken()

    async def aclose(self) -> None:
        """End the servers of this conversation."""
        await _close(self._connections)


def _plain(value: object) -> object:
    return clean_text(value) if isinstance(value, str) else plain(value)


def _cut(was_cut: bool) -> tuple[str, ...]:
    return ("result",) if was_cut else ()
