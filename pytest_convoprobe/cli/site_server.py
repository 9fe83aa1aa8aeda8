"""Serves the site of stored runs to a browser on this machine, and to nobody else.

A page of another site could ask this server by the browser of whoever looks at it. So the `Host` must be a
name of this machine, which a rebound name of another site is not, and requests that another site makes are
refused.
"""

from __future__ import annotations

import os
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from .site import Site, SitePage, broken

HOST = "127.0.0.1"
_NAMES = ("127.0.0.1", "localhost")
_USUAL_PORT = 80
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_OUR_OWN = ("same-origin", "none")
"""Where a browser says that a request comes from: this site, or nobody's page (an address that was typed)."""


class SiteServer(ThreadingHTTPServer):
    """The server. Port 0 takes a free one; `url` is where it is."""

    daemon_threads = True
    # On Windows, a port that is "reused" may be one on which another program listens.
    allow_reuse_address = os.name == "posix"

    def __init__(self, site: Site, port: int = 0) -> None:
        self.site = site
        super().__init__((HOST, port), _Handler)

    def server_bind(self) -> None:
        """Without the base class's question to the name service, which may take seconds to answer."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: pages that break are answered, and a browser that has hung up is not worth a word."""

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: SiteServer
    protocol_version = "HTTP/1.1"
    server_version = "convoprobe"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def __getattr__(self, name: str) -> Any:
        # The base class looks for `do_<METHOD>`: whatever else is asked for is refused.
        if name.startswith("do_"):
            return lambda: self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "this site is only read")
        raise AttributeError(name)

    def _answer(self, *, with_body: bool) -> None:
        if problem := self._stranger():
            self._refuse(HTTPStatus.FORBIDDEN, problem)
            return
        # Nobody reads the body of a question, so it mustn't be taken for the next question.
        self.close_connection |= "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        status, body = self._made()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _made(self) -> tuple[int, bytes]:
        """The page, whole: where it breaks in the middle, an error is better than a half."""
        try:
            return _whole(self.server.site.page(self.path))
        except Exception as error:  # noqa: BLE001 - one page that can't be made doesn't end the site
            return _whole(broken(f"{type(error).__name__}: {error}"))

    def _stranger(self) -> str:
        """Why the request is refused; empty if it comes from this machine's own browser."""
        ours = {f"{name}{port}" for name in _NAMES for port in self._ports()}
        if self.headers.get("Host", "").lower() not in ours:
            return "this site answers only to 127.0.0.1 and localhost"
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in ours:
            return "this site answers no other site"
        if self.headers.get("Sec-Fetch-Site", "none") not in _OUR_OWN:
            return "this site answers no other site"
        return ""

    def _ports(self) -> tuple[str, ...]:
        """What may follow the name. Browsers leave out the port that is usual."""
        port = self.server.server_address[1]
        return (f":{port}", "") if port == _USUAL_PORT else (f":{port}",)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        body = f"{why}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what is looked at is nobody's business, and errors are on the page."""


def _whole(page: SitePage) -> tuple[int, bytes]:
    return page.status, "".join(page.chunks).encode("utf-8", "backslashreplace")
