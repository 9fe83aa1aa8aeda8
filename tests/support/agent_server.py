"""An HTTP service on loopback that stands in for an agent of the user's.

Each request is answered by a function::

    with AgentServer(lambda request: {"text": request.json["message"]}) as server:
        ... url=f"{server.url}/chat"

It may return a mapping or list (sent as JSON), a text (sent as text/plain) or an `Answer`. `server.requests`
has all requests in the order of arrival.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any


@dataclass(frozen=True)
class Request:
    """A request as it came in; header names are lower case, `path` has the query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What is sent back. `hang` sends nothing until the server is closed, `drop` closes the connection.

    `pieces` are sent one by one instead of `body`, as a stream is; then `hang` waits after them, and `drop`
    breaks the stream off.
    """

    body: bytes | str = b""
    status: int = 200
    content_type: str | None = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    hang: bool = False
    drop: bool = False
    pieces: Iterable[bytes] | None = None


Answering = Callable[[Request], Any]


@dataclass
class AgentServer:
    """Runs while it is used as a context manager; `url` has no slash at its end."""

    answer: Answering
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._closing = threading.Event()

    def __enter__(self) -> AgentServer:
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait_until_closed(self) -> None:
        self._closing.wait()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256


def _handler(server: AgentServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            # Head and body are two writes: with Nagle's algorithm the second waits for an ACK.
            self.connection.setsockopt(6, 1, 1)

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, self.rfile.read(length))
            server.requests.append(request)
            answer = _as_answer(server.answer(request))
            if answer.pieces is not None:
                _write_head(self, answer, ("transfer-encoding", "chunked"))
                _write_pieces(self.wfile, answer, server)
                self.close_connection |= answer.drop
                return
            if answer.hang:
                server.wait_until_closed()
            if answer.hang or answer.drop:
                self.close_connection = True
                return
            self._send(answer)

        def _send(self, answer: Answer) -> None:
            body = answer.body.encode() if isinstance(answer.body, str) else answer.body
            _write_head(self, answer, ("content-length", str(len(body))))
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: what came in is in `requests`."""

        do_GET = do_POST = do_PUT = do_DELETE = _answer

    return Handler


def _write_head(handler: BaseHTTPRequestHandler, answer: Answer, length: tuple[str, str]) -> None:
    handler.send_response(answer.status)
    if answer.content_type:
        handler.send_header("content-type", answer.content_type)
    for name, value in (*answer.headers, length):
        handler.send_header(name, value)
    handler.end_headers()


def _write_pieces(out: IO[bytes], answer: Answer, server: AgentServer) -> None:
    # Whoever reads may have enough before the end, and close the connection.
    with contextlib.suppress(OSError):
        for piece in answer.pieces or ():
            out.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if answer.hang:
            server.wait_until_closed()
        if not answer.drop:
            out.write(b"0\r\n\r\n")


def sse(*events: Any, name: str = "") -> bytes:
    """Server-sent events, each with a text or data of JSON."""
    head = f"event: {name}\n" if name else ""
    texts = (event if isinstance(event, str) else json.dumps(event, ensure_ascii=False) for event in events)
    return "".join(f"{head}data: {text}\n\n" for text in texts).encode()


def streamed(*pieces: bytes, **more: Any) -> Answer:
    """A stream of server-sent events, in these pieces."""
    return Answer(pieces=pieces, content_type="text/event-stream", **more)


def _as_answer(value: Any) -> Answer:
    if isinstance(value, Answer):
        return value
    if isinstance(value, str):
        return Answer(value, content_type="text/plain; charset=utf-8")
    return Answer(json.dumps(value))
