"""The package `mcp`, of which two major versions are in use: all that differs between them is here.

The first has `ClientSession` with an `initialize`, the second `Client`, which finds out by itself which
protocol the server speaks. Names of fields differ in Python and are the same in JSON, so data is read from
there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...outside_json import read_json
from .errors import Closed, NotStarted
from .process import ServerProcess

# A server that lists pages without end is stopped by the time limit; one that lists thousands isn't used.
_MOST_PAGES = 200
_CONNECTING = 30.0
_SESSION_OVER = "Session terminated"
_STREAM_OVER = ("SSE stream ended", "SSE stream failed")
_UNREADABLE = -32700
_OK = 200
_REFUSED = frozenset((401, 403, 404, 408, 429))

Answer = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any] | None]]
"""From the parameters of a server's request to the result, both as JSON; None refuses it."""


@dataclass(frozen=True)
class ListedTool:
    """A tool as the server lists it; `schema` is its own, of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Answers:
    """Who answers the server's own requests."""

    elicitation: Answer
    sampling: Answer


class Sdk:
    """The package that is installed. Raises `NotStarted` if none is."""

    def __init__(self) -> None:
        try:
            self._mcp = import_module("mcp")
            self._has_client = hasattr(self._mcp, "Client")
            self._types = import_module("mcp_types" if self._has_client else "mcp.types")
        except ImportError as error:
            raise NotStarted(_missing(error)) from None

    async def connect(
        self, stack: AsyncExitStack, transport: AbstractAsyncContextManager[Any], answers: Answers
    ) -> Client:
        """A client that is ready; it and the transport are closed with the stack."""
        callbacks = {
            "elicitation_callback": self._callback(answers.elicitation, self._types.ElicitResult),
            "sampling_callback": self._callback(answers.sampling, self._types.CreateMessageResult),
        }
        if self._has_client:
            # Nothing is kept of what a tool gave: the next call is another one.
            client = self._mcp.Client(transport, cache=None, **callbacks)
            return Client(await stack.enter_async_context(client), has_client=True)
        read, write, *_ = await stack.enter_async_context(transport)
        session = await stack.enter_async_context(self._mcp.ClientSession(read, write, **callbacks))
        await session.initialize()
        return Client(session, has_client=False)

    def over_process(
        self, process: ServerProcess, spoilt: list[str], ended: Callable[[], object]
    ) -> AbstractAsyncContextManager[Any]:
        """A transport over a process. `spoilt` gets the lines of its output that are no messages.

        `ended` is called once it closes its output or its input.
        """
        return _over_process(process, _Wire(self._types, self._has_client), spoilt, ended)

    def over_http(
        self, url: str, headers: Mapping[str, str], refused: Callable[[str], object]
    ) -> AbstractAsyncContextManager[Any]:
        """A transport over streamable HTTP. `refused` gets words about each message that was refused."""
        return _over_http(url, headers, refused)

    def _callback(self, answer: Answer, kind: Any) -> Callable[[Any, Any], Awaitable[Any]]:
        refusal = self._types.ErrorData(code=-32600, message="refused: the user allows no such request")

        async def callback(_: Any, params: Any) -> Any:
            given = await answer(params.model_dump(mode="json", by_alias=True, exclude_none=True))
            return refusal if given is None else kind.model_validate(given)

        return callback


class Client:
    """A connected client of either version."""

    def __init__(self, client: Any, *, has_client: bool) -> None:
        self._client = client
        self._has_client = has_client

    async def tools(self) -> tuple[ListedTool, ...]:
        """All tools, page by page."""
        found: list[ListedTool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._page(cursor)
            found += map(_listed, page.tools)
            cursor = page.next_cursor if self._has_client else page.nextCursor
            if not cursor:
                break
        return tuple(found)

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a call as JSON. Raises `Closed` if the service has closed the session."""
        try:
            result = await self._client.call_tool(name, arguments)
        except Exception as error:
            if is_over(error):
                raise Closed(str(error)) from None
            raise
        data: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return data

    async def look(self) -> None:
        """Ask for something that every server answers: it shows whether there is a server."""
        await self._page(None)

    async def _page(self, cursor: str | None) -> Any:
        if self._has_client:
            return await self._client.list_tools(cursor=cursor)
        return await self._client.list_tools(cursor)


def _listed(tool: Any) -> ListedTool:
    schema = getattr(tool, "inputSchema", None)
    return ListedTool(tool.name, tool.description or "", tool.input_schema if schema is None else schema)


def is_over(error: BaseException) -> bool:
    """Whether an error of the package says that the service will answer no more in this session."""
    words = str(error)
    return words == _SESSION_OVER or words.startswith(_STREAM_OVER)


@dataclass(frozen=True)
class _Wire:
    """Messages as lines."""

    types: Any
    has_client: bool

    def read(self, line: bytes) -> Any:
        """The message, or the error that it can't be read."""
        message = import_module("mcp.shared.message")
        try:
            found = self._validated(line)
        except ValueError as error:
            try:
                found = self._validated(_mended(line))
            except ValueError:
                return error
        return message.SessionMessage(found)

    def _validated(self, line: bytes) -> Any:
        if self.has_client:
            return self.types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        return self.types.JSONRPCMessage.model_validate_json(line)

    def write(self, message: Any) -> bytes:
        left_out = {"exclude_unset": True} if self.has_client else {"exclude_none": True}
        text: str = message.message.model_dump_json(by_alias=True, **left_out)
        return text.encode("utf-8", "replace") + b"\n"


def _mended(line: bytes) -> bytes:
    """A line that is not a message as one that is; `ValueError` if it doesn't answer anything.

    Texts that were cut within a letter are common, and pydantic refuses those. Anything else becomes an error
    of the call: without it, the call would wait for an answer that has come.
    """
    data = read_json(line.decode("utf-8", "replace"))
    if not isinstance(data, dict) or data.get("id") is None or "method" in data:
        raise ValueError("it is not an answer")
    if not isinstance(data.get("result"), dict) and not isinstance(data.get("error"), dict):
        refused = {
            "code": _UNREADABLE,
            "message": "the server's answer has neither a `result` nor an `error`",
        }
        data = {"jsonrpc": "2.0", "id": data["id"], "error": refused}
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


@asynccontextmanager
async def _over_process(
    process: ServerProcess, wire: _Wire, spoilt: list[str], ended: Callable[[], object]
) -> AsyncIterator[Any]:
    # Not the package's own transport: it kills the server's process only where nothing goes wrong, and hides
    # how it ended.
    anyio = import_module("anyio")
    into, read = anyio.create_memory_object_stream(0)
    write, out = anyio.create_memory_object_stream(0)

    async def receive() -> None:
        async with into:
            while (line := await process.line()) is not None:
                message = wire.read(line) if line.strip() else None
                if isinstance(message, Exception):
                    spoilt[:] = [*spoilt[:2], line.decode("utf-8", "replace")]
                elif message is not None:
                    await into.send(message)
            ended()

    async def send() -> None:
        async with out:
            async for message in out:
                try:
                    await process.write(wire.write(message))
                except OSError:
                    ended()
                    return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()
            for stream in (into, read, write, out):
                stream.close()


@asynccontextmanager
async def _over_http(
    url: str, headers: Mapping[str, str], refused: Callable[[str], object]
) -> AsyncIterator[Any]:
    http = import_module("mcp.client.streamable_http")
    library = getattr(http, "httpx2", None) or http.httpx
    timeout = library.Timeout(_CONNECTING, read=None)  # each call has a limit of its own
    client = library.AsyncClient(headers=dict(headers), timeout=timeout)

    async def look_at(response: Any) -> None:
        status, kind = response.status_code, response.headers.get("content-type", "")
        if response.request.method != "POST":
            return
        if status in _REFUSED or 300 <= status <= 399 or status >= 500:
            refused(f"it answered with status {status}")
        elif status == _OK and kind.startswith("text/html"):
            # The page of a proxy, or one that asks for a password: the service itself isn't reached.
            refused("it answered with a page of HTML")

    client.event_hooks = {"request": [], "response": [look_at]}
    async with client, http.streamable_http_client(url, http_client=client) as streams:
        yield streams


def _missing(error: ImportError) -> str:
    return (
        "MCP servers need the package `mcp`: install it with `pip install 'pytest-convoprobe[mcp]'` "
        f"({error})"
    )
