"""A chat-completions server on loopback that stands in for every provider.

It is a real HTTP/1.1 server (standard library only) in a thread of its own, so that clients on any event
loop, in this process or in another one, can talk to it. In a test::

    with ChatServer() as server:                       # answers by the default rules (default_answers.py)
        ... model "openai/fake", api_base=server.base_url, any api_key
    ChatServer(["first", "second"])                    # in order; afterwards the default rules
    ChatServer(lambda body: "text")                    # by a function on the request's body
    ChatServer(faults=["429", None, "500"])            # a script: one entry a request, None answers normally
    ChatServer(rates={"429": 0.2, "500": 0.05}, seed=1)    # at random
    ChatServer(refuses=("temperature",))               # 400 whenever the body has that field

An answer is a text, a mapping (sent as JSON text), a `Completion`, or a `Fault`; functions may return any of
these (one that raises is answered with 400). Faults are also known by name (see `fault`). A request with
`stream` gets its answer as server-sent events. `server.requests` holds all that came in, `server.peak` the
largest number of requests at once. What a judge is asked besides its verdict is answered by itself and kept
in `server.routine` (see judge_routine.py), unless `routine=False`.

For benchmarks and xdist it runs as a process: ``python -m tests.support.chat_server --port 0 --latency 0.2``
prints ``READY http://127.0.0.1:PORT/v1``; ``GET /stats`` tells its counts as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

from .chat_streams import as_stream
from .default_answers import default_answer
from .judge_routine import JudgeRoutine


@dataclass(frozen=True)
class Completion:
    """A whole answer. `tool_calls` are pairs of a name and its arguments (a mapping, or text as it is)."""

    text: str | None = "ok"
    tool_calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    finish_reason: str | None = None
    prompt_tokens: int = 10
    completion_tokens: int = 5
    reasoning: str | None = None
    top_tokens: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong: `kind` is reply, hang, close or endless; `body` None echoes the key."""

    name: str
    kind: str = "reply"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = ""
    content_type: str = "application/json"


Answer = str | Mapping[str, Any] | Completion | Fault
Answers = Callable[[dict[str, Any]], Answer] | Iterable[Answer]


@dataclass
class Recorded:
    """One request as it came in; header names are lower case.

    Times are of `time.monotonic`; `finished` is when its answer, or its fault, began to be sent.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    started: float
    finished: float | None = None
    status: int | None = None
    fault: str | None = None

    @property
    def contents(self) -> list[str]:
        """The text of each message."""
        return [str(message.get("content") or "") for message in self.body.get("messages", ())]

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        return "\n".join(str(message.get("content")) for message in self.body.get("messages", ()))


def _error(message: str, code: str | None = None, param: str | None = None) -> str:
    return json.dumps(
        {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
    )


def refusal(parameter: str) -> Fault:
    """400: the model does not support this parameter."""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    return Fault(
        f"no_{parameter}", status=400, body=_error(message, code="unsupported_parameter", param=parameter)
    )


def _retry_after(kind: str, seconds: str) -> dict[str, str]:
    if not seconds:
        return {}
    if kind == "429-date":
        when = datetime.now(timezone.utc) + timedelta(seconds=float(seconds))
        return {"Retry-After": format_datetime(when, usegmt=True)}
    return {"Retry-After": seconds}


def _completion_body(answer: Completion, model: str, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning is not None:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{number}_{index}", "type": "function", "function": _function(name, arguments)}
            for index, (name, arguments) in enumerate(answer.tool_calls)
        ]
    reason = answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1700000000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": reason,
                "logprobs": _logprobs(answer.top_tokens),
            }
        ],
        "usage": {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
            "total_tokens": answer.prompt_tokens + answer.completion_tokens,
        },
    }


def _logprobs(top_tokens: Mapping[str, float]) -> dict[str, Any] | None:
    """Those of the first token, in the protocol's form."""
    top = [{"token": token, "logprob": chance, "bytes": None} for token, chance in top_tokens.items()]
    return {"content": [{**top[0], "top_logprobs": top}], "refusal": None} if top else None


def _function(name: str, arguments: Mapping[str, Any] | str) -> dict[str, str]:
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}


def _completed(answer: Completion) -> str:
    return json.dumps(_completion_body(answer, "fake", 0))


def fault(name: str) -> Fault:
    """The fault of this name; `429:3` and `429-date:3` carry a Retry-After of three seconds.

    Names: any status (`429`, `500`, `502`, `503`, `529`, ...), `401` (echoes the key), `no_temperature`,
    `no_response_format`, `context`, `garbage`, `html`, `no_choices`, `empty`, `length`, `hang`, `close`,
    `endless`.
    """
    kind, _, argument = name.partition(":")
    if kind.split("-")[0].isdigit():
        status = int(kind.split("-")[0])
        body = None if status == 401 else _error(f"Scripted {status}")
        return Fault(name, status=status, headers=_retry_after(kind, argument), body=body)
    if kind.startswith("no_") and kind != "no_choices":
        return refusal(kind.removeprefix("no_"))
    if kind in {"hang", "close", "endless"}:
        return Fault(name, kind=kind)
    return Fault(name, **_NAMED[kind])


_NAMED: dict[str, dict[str, Any]] = {
    "context": {
        "status": 400,
        "body": _error(
            "This model's maximum context length is 8192 tokens. However, you sent 9000 tokens.",
            code="context_length_exceeded",
            param="messages",
        ),
    },
    "garbage": {"body": '{"id": "chatcmpl-1", "choi'},
    "html": {"body": "<html><body>Welcome to the proxy</body></html>", "content_type": "text/html"},
    "no_choices": {
        "body": json.dumps(
            {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
        )
    },
    "empty": {"body": _completed(Completion(text=""))},
    "length": {"body": _completed(Completion(text='{"cut": "he', finish_reason="length"))},
}


class ChatServer:
    """The server; use it as a context manager, or `start` and `stop` it. See the module's docstring.

    `latency` is in seconds; faults wait as long as answers do.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        *,
        latency: float = 0.0,
        faults: Iterable[str | Fault | None] = (),
        rates: Mapping[str, float] | None = None,
        refuses: Iterable[str] = (),
        seed: int = 0,
        port: int = 0,
        routine: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.latency = latency
        self.requests: list[Recorded] = []
        self.routine: list[Recorded] = []
        self.peak = 0
        self._function = answers if callable(answers) else None
        self._list = iter(() if answers is None or callable(answers) else answers)
        self._script = iter(faults)
        self._rates = dict(rates or {})
        self._refuses = tuple(refuses)
        self._random = random.Random(seed)
        self._port = port
        self._tls = tls
        self._judge_routine = JudgeRoutine() if routine else None
        self._active = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """What goes into `api_base`."""
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self._port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    def stats(self) -> dict[str, Any]:
        """Counts: requests, largest number at once, how often each fault was served; and when each came."""
        served = Counter(request.fault for request in self.requests if request.fault)
        counts = {"requests": len(self.requests), "peak": self.peak, "faults": dict(served)}
        return {**counts, "started": [request.started for request in self.requests]}

    def __enter__(self) -> ChatServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> ChatServer:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="chat-server", daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the chat server did not start")
        return self

    def stop(self) -> None:
        """Also ends hanging and endless answers."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(10)

    def _run(self, started: threading.Event) -> None:
        asyncio.run(self.serve(started.set))

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serves until `stop`."""
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await asyncio.start_server(
            self._connected, "127.0.0.1", self._port, backlog=1024, ssl=self._tls
        )
        self._port = server.sockets[0].getsockname()[1]
        ready()
        await self._stopping.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0.01 if self._tls else 0)  # connections are closed in callbacks

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
            if self._tls is None:
                writer.close()
            else:
                writer.transport.abort()  # a farewell over TLS may never be answered

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        if path == "/stats":
            return await _respond(writer, 200, json.dumps(self.stats()))
        if not path.split("?")[0].endswith("/chat/completions"):
            return await _respond(writer, 404, _error(f"no such path: {path}"))
        request = Recorded(path, headers, json.loads(raw), time.monotonic())
        text = self._judge_routine.answer(request.contents) if self._judge_routine else None
        if text is not None:
            self.routine.append(request)
            cheap = Completion(text, prompt_tokens=1, completion_tokens=0)
            body = _completion_body(cheap, str(request.body.get("model", "fake")), 0)
            return await _respond(writer, 200, json.dumps(body))
        self.requests.append(request)
        self._active += 1
        self.peak = max(self.peak, self._active)
        try:
            return await self._answer(request, len(self.requests), writer)
        finally:
            self._active -= 1

    async def _answer(self, request: Recorded, number: int, writer: asyncio.StreamWriter) -> bool:
        answer = self._choose(request.body)
        if self.latency:
            await asyncio.sleep(self.latency)
        # Before it is sent: a client that has its answer must find the record complete.
        request.finished = time.monotonic()
        if isinstance(answer, Fault):
            request.fault, request.status = answer.name, answer.status
            return await _fail(answer, request, writer)
        request.status = 200
        said = _as_completion(answer)
        if self._judge_routine:
            self._judge_routine.heard(request.contents, said.text or "")
        body = _completion_body(said, str(request.body.get("model", "fake")), number)
        if request.body.get("stream"):
            return await _respond(writer, 200, as_stream(body), "text/event-stream")
        return await _respond(writer, 200, json.dumps(body))

    def _choose(self, body: dict[str, Any]) -> Answer:
        scripted = next(self._script, None)
        if scripted is not None:
            return fault(scripted) if isinstance(scripted, str) else scripted
        for parameter in self._refuses:
            if parameter in body:
                return refusal(parameter)
        drawn = self._random.random()
        for name, rate in self._rates.items():
            drawn -= rate
            if drawn < 0:
                return fault(name)
        if self._function is not None:
            return _called(self._function, body)
        answer = next(self._list, None)
        return answer if answer is not None else _default(body)


def _called(function: Callable[[dict[str, Any]], Answer], body: dict[str, Any]) -> Answer:
    try:
        return function(body)
    except Exception as error:  # noqa: BLE001 - the test's own code: whatever it raises has to reach the test
        return Fault("answer raised", status=400, body=_error(f"the test's answer raised {error!r}"))


def _default(body: dict[str, Any]) -> Answer:
    answer = default_answer(body)
    return answer if isinstance(answer, str) else Completion(text=None, tool_calls=tuple(answer))


def _as_completion(answer: Answer) -> Completion:
    if isinstance(answer, Completion):
        return answer
    return Completion(text=answer if isinstance(answer, str) else json.dumps(answer))


async def _fail(wrong: Fault, request: Recorded, writer: asyncio.StreamWriter) -> bool:
    if wrong.kind == "hang":
        await asyncio.sleep(3600)
    if wrong.kind == "endless":
        await _drip(writer)
    if wrong.kind == "close":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
        await writer.drain()
        return False
    body = wrong.body
    if body is None:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        body = _error(f"Incorrect API key provided: {key}.", code="invalid_api_key")
    return await _respond(writer, wrong.status, body, wrong.content_type, wrong.headers)


async def _drip(writer: asyncio.StreamWriter) -> None:
    """A body that never ends, one blank at a time, so that no read times out."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1\r\n \r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _respond(
    writer: asyncio.StreamWriter,
    status: int,
    body: str,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> bool:
    data = body.encode()
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Type: {content_type}", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + data)
    await writer.drain()
    return True


def _rate(text: str) -> tuple[str, float]:
    name, _, rate = text.rpartition("=")
    return name, float(rate)


def main() -> None:
    """Runs the server as a process until it is ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.chat_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--rate", type=_rate, action="append", default=[], help="a fault's share: 429:1=0.2")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    server = ChatServer(
        latency=options.latency, rates=dict(options.rate), seed=options.seed, port=options.port
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve(lambda: print(f"READY {server.base_url}", flush=True)))  # noqa: T201


if __name__ == "__main__":
    main()
