"""A server that only programs on this machine reach which know its address."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import socket
from collections.abc import Awaitable, Callable

from aiohttp import web

from ..errors import TargetStartError
from ..forbidden_sockets import ALLOW_HOSTS, forbids_sockets
from ..formatting import size
from ..own_traffic import unlogged
from .exchange import Answered

MOST_BODY = 64 * 1024 * 1024
"""The largest request, and the largest answer, in bytes."""
TOO_LARGE = f"the request is larger than {size(MOST_BODY)}, which is all that the gateway passes on"
"""Why a request is refused, in words for whoever sent it."""

_HOST = "127.0.0.1"
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?", re.IGNORECASE)
_BACKLOG = 512

Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]
"""What answers a request; it gets the path behind the secret, without a leading slash."""


class LoopbackServer:
    """Its address is known at once: what connects before `start` waits. Raises `TargetStartError`."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._socket = _listening()
        self.secret = secrets.token_urlsafe(24)
        self.url = f"http://{_HOST}:{self._socket.getsockname()[1]}/{self.secret}"
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Answer from now on. Nothing is logged: there may be secrets in addresses and headers."""
        with unlogged():
            app = web.Application(client_max_size=MOST_BODY, logger=_silent())
            app.router.add_route("*", "/{path:.*}", self._received)
            self._runner = web.AppRunner(
                app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=0.5
            )
            await self._runner.setup()
            await web.SockSite(self._runner, self._socket, backlog=_BACKLOG).start()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._runner is not None:
            await self._runner.cleanup()
        self._socket.close()

    async def _received(self, request: web.Request) -> web.StreamResponse:
        secret, _, rest = request.rel_url.raw_path.lstrip("/").partition("/")
        if not hmac.compare_digest(secret.encode("utf-8"), self.secret.encode("ascii")):
            return web.Response(status=404)
        if not _LOOPBACK.fullmatch(request.headers.get("Host", "")) or "Origin" in request.headers:
            # A page in a browser, by way of a name that leads here.
            return web.Response(status=403)
        return await self._handler(request, rest)


def as_response(answered: Answered) -> web.Response:
    """A whole answer of our own."""
    return web.Response(status=answered.status, body=answered.body, headers=dict(answered.headers))


def _listening() -> socket.socket:
    try:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.bind((_HOST, 0))
        made.listen(_BACKLOG)
    except Exception as error:  # noqa: BLE001 - a suite that forbids sockets may raise anything
        words = str(error)
        advice = ALLOW_HOSTS if forbids_sockets(f"{type(error).__name__}: {words}") else words
        raise TargetStartError(f"the gateway for the agent's model calls can't listen: {advice}") from None
    return made


def _silent() -> logging.Logger:
    """A logger that says nothing."""
    logger = logging.Logger("convoprobe-gateway")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
