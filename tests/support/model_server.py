"""A provider of models on loopback that an agent under test calls itself, in four protocols.

A real HTTP/1.1 server (standard library only) in a thread of its own. It speaks chat completions, Responses,
Anthropic's Messages and embeddings, plain and streaming, and answers other paths (`models`, `count_tokens`)
generically. In a test::

    with ModelServer() as server:                 # answers by `reply_to`: what was said, or a call
        ... OPENAI_BASE_URL=server.url + "/v1", ANTHROPIC_BASE_URL=server.url
    ModelServer(["first", Completion(None, (("lookup", {"order": "7"}),))])     # in order, then `reply_to`
    ModelServer(lambda request: "text")           # by a function on the `ModelRequest`
    ModelServer(faults=["429:1", None, "cut"])    # one entry a request, None answers normally
    ModelServer(gate=gate)                        # before each event of a stream, waits for `gate.release()`

An answer is a text, a `Completion` or a `Fault`. Faults by name are those of `chat_server.fault` (`429:2`,
`500`, `hang`, `close`, ...), and `cut`: half of the answer's events, or of its body, then the end of the
connection. `server.requests` holds all that came in, with headers and bodies.

As a process: ``python -m tests.support.model_server [--answers MODULE:FUNCTION]`` prints
``READY http://127.0.0.1:PORT``; ``GET /stats`` tells the requests as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .chat_server import Completion, Fault, fault
from .model_protocols import (
    EMBEDDINGS,
    Line,
    answer_body,
    answer_events,
    embeddings,
    error_body,
    lines_of,
    protocol_of,
    tools_of,
)

_CUT = Fault("cut", kind="cut")


@dataclass
class ModelRequest:
    """One request as it came in; header names are lower case. `sent` counts the events of a stream."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    body: dict[str, Any] = field(default_factory=dict)
    status: int = 0
    fault: str = ""
    sent: int = 0

    @property
    def protocol(self) -> str:
        return protocol_of(self.path)

    @property
    def lines(self) -> list[Line]:
        return lines_of(self.protocol, self.body)

    @property
    def tools(self) -> set[str]:
        return tools_of(self.body)

    def said_by(self, role: str) -> list[str]:
        return [line.text for line in self.lines if line.role == role]


ModelAnswer = str | Completion | Fault
ModelAnswers = Callable[[ModelRequest], ModelAnswer] | Iterable[ModelAnswer]


class Gate:
    """Holds the events of streams back until a test lets them go."""

    def __init__(self) -> None:
        self._permits = threading.Semaphore(0)
        self._open = threading.Event()

    def release(self, events: int = 1) -> None:
        """Let this many more events go."""
        self._permits.release(events)

    def open(self) -> None:
        """Let all events go from now on."""
        self._open.set()

    async def passed(self) -> None:
        while not self._open.is_set() and not self._permits.acquire(blocking=False):
            await asyncio.sleep(0.002)


def reply_to(request: ModelRequest) -> Completion:
    """The calls that the last user's message asks for (`call lookup {"order": "7"}`), if they are offered.

    Otherwise all that the user has said, and the results of tools since then: `hello | and 7? -> on its way`.
    """
    lines = request.lines
    asked = max((at for at, line in enumerate(lines) if line.role == "user"), default=-1)
    results = [line.text for line in lines[asked + 1 :] if line.role == "tool"]
    if asked >= 0 and not results:
        wanted = tuple(_calls(lines[asked].text, request.tools))
        if wanted:
            return Completion(None, wanted)
    return Completion(" | ".join(request.said_by("user")) + "".join(f" -> {one}" for one in results))


def _calls(text: str, offered: set[str]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for found in re.finditer(r"call (\w+) (?=\{)", text):
        arguments, _ = json.JSONDecoder().raw_decode(text, found.end())
        if found[1] in offered:
            yield found[1], arguments


class ModelServer:
    """The server; use it as a context manager, or `start` and `stop` it. See the module's docstring."""

    def __init__(
        self,
        answers: ModelAnswers | None = None,
        *,
        faults: Iterable[str | Fault | None] = (),
        gate: Gate | None = None,
        latency: float = 0.0,
        port: int = 0,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._function = answers if callable(answers) else reply_to
        self._list = iter(() if answers is None or callable(answers) else answers)
        self._script = iter(faults)
        self._gate = gate
        self._latency = latency
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Without a path: what follows is `/v1/...`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def counts(self) -> dict[str, int]:
        """How many requests there were in each protocol."""
        kinds = [request.protocol or "other" for request in self.requests]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def __enter__(self) -> ModelServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> ModelServer:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="model-server", daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the model server did not start")
        return self

    def stop(self) -> None:
        """Also ends answers that hang or wait at the gate."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(10)
            self._thread = None

    def _run(self, started: threading.Event) -> None:
        asyncio.run(self.serve(started.set))

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serves until `stop`."""
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        ready()
        await self._stopping.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._one_request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client went away, or the server stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        raw = await _body(reader, headers)
        out = _Out(writer)
        if path == "/stats":
            return await out.whole(200, json.dumps(self._stats()))
        request = ModelRequest(method, path, headers, raw, _as_json(raw))
        self.requests.append(request)
        await asyncio.sleep(self._latency)
        return await self._answer(request, out)

    def _stats(self) -> list[dict[str, Any]]:
        """The requests as data."""
        return [
            {"method": one.method, "path": one.path, "headers": one.headers, "body": one.body}
            for one in self.requests
        ]

    async def _answer(self, request: ModelRequest, out: _Out) -> bool:
        wrong = next(self._script, None)
        answer: ModelAnswer | None = _named(wrong) if isinstance(wrong, str) else wrong
        if answer is None and request.protocol not in ("", EMBEDDINGS):
            answer = self._said(request)
        request.status = answer.status if isinstance(answer, Fault) else 200
        if isinstance(answer, Fault):
            request.fault = answer.name
            if answer.kind != "cut":
                return await _fail(answer, request, out)
            answer = self._said(request)
        return await self._send(request, answer, out)

    async def _send(self, request: ModelRequest, answer: ModelAnswer | None, out: _Out) -> bool:
        is_cut = request.fault == _CUT.name
        if answer is None or isinstance(answer, Fault):
            given = embeddings(request.body) if request.protocol == EMBEDDINGS else {"ok": request.path}
            return await out.whole(200, json.dumps(given), cut=is_cut)
        said = Completion(answer) if isinstance(answer, str) else answer
        if not request.body.get("stream"):
            return await out.whole(
                200, json.dumps(answer_body(request.protocol, said, request.body)), cut=is_cut
            )
        events = answer_events(request.protocol, said, request.body)
        await out.begin_stream()
        for event in events[: len(events) // 2] if is_cut else events:
            if self._gate is not None:
                await self._gate.passed()
            request.sent += 1
            await out.chunk(event)
        return await out.end_stream() if not is_cut else False

    def _said(self, request: ModelRequest) -> ModelAnswer | None:
        if request.protocol in ("", EMBEDDINGS):
            return None
        answer = next(self._list, None)
        if answer is not None:
            return answer
        try:
            return self._function(request)
        except Exception as error:  # noqa: BLE001 - the test's own code: whatever it raises has to reach the test
            return Fault("answer raised", status=400, body=f"the test's answer raised {error!r}")


class _Out:
    """What is written to one client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def whole(
        self,
        status: int,
        body: str,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        cut: bool = False,
    ) -> bool:
        """An answer with its length; `cut` breaks it off in the middle."""
        data = body.encode()
        await self._head(
            status, {"Content-Type": content_type, "Content-Length": str(len(data)), **(headers or {})}
        )
        self._writer.write(data[: len(data) // 2] if cut else data)
        await self._writer.drain()
        return not cut

    async def begin_stream(self) -> None:
        await self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})

    async def chunk(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writer.drain()

    async def end_stream(self) -> bool:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    async def _head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        await self._writer.drain()


def _named(name: str) -> Fault:
    return _CUT if name == _CUT.name else fault(name)


async def _fail(wrong: Fault, request: ModelRequest, out: _Out) -> bool:
    if wrong.kind in ("hang", "endless"):
        await asyncio.sleep(3600)
    if wrong.kind == "close":
        return await out.whole(200, '{"a": "b"}', cut=True)
    message = f"Scripted {wrong.status}" if wrong.name != "answer raised" else wrong.body or ""
    is_refusal = wrong.status >= 400
    body = error_body(request.protocol, wrong.status, message) if is_refusal else wrong.body or ""
    return await out.whole(wrong.status, body, wrong.headers, wrong.content_type)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """With a length, or in chunks, as some clients of Node send it."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    pieces = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        pieces.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(pieces)


def _as_json(raw: bytes) -> dict[str, Any]:
    try:
        read = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _function(named: str) -> Callable[[ModelRequest], ModelAnswer]:
    module, _, name = named.partition(":")
    found: Callable[[ModelRequest], ModelAnswer] = getattr(importlib.import_module(module), name)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the server as a process until it is ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.model_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--answers", type=_function, help="MODULE:FUNCTION, called with the request")
    options = parser.parse_args(arguments)
    server = ModelServer(options.answers, latency=options.latency, port=options.port)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve(lambda: print(f"READY {server.url}", flush=True)))  # noqa: T201


if __name__ == "__main__":
    main()
