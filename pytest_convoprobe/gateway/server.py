"""The loopback server to which the agent's clients send their model calls."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import hmac
import logging
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager, asynccontextmanager

from aiohttp import web

from ..errors import ModelCallRefused, TargetStartError
from ..forbidden_sockets import ALLOW_HOSTS, forbids_sockets
from ..formatting import size
from ..own_traffic import unlogged
from ..project_code.clock import current_clock
from .attribution import TurnInFlight, owner_of
from .calls import MOST_BODY, AgentCall, Incoming
from .conversation import GatewayConversation
from .exchange import Answered, Asked
from .port import Wire
from .refusals import refusal
from .texts import RequestTexts
from .turns import MessageLocks
from .upstream import Upstream
from .variables import AgentVariables

_HOST = "127.0.0.1"
_CONVERSATION = re.compile(r"talk-[0-9a-f]{16}")
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?", re.IGNORECASE)
_LARGE = 200_000
"""The size of a request, in bytes, from which reading it may keep others waiting."""
_SETTLING = 0.5
_BACKLOG = 512

UNATTRIBUTED = (
    "a model call came that belongs to no conversation: it contains no message that is being answered, and "
    "nothing else that only one conversation can have. Calls at the import of a module and after a turn are "
    "of this kind, and those with texts of the agent's own. Give the agent the address of its conversation: "
    "`{{ model_url }}` in the templates of an HTTP target, `context.model_url` in Python"
)


class Gateway:
    """The gateway of one session or process. Its address is known at once, and it serves after `start`.

    Everything but `url` and `variables` is used on one event loop.
    """

    def __init__(self) -> None:
        self._socket = _listening()
        self._secret = secrets.token_urlsafe(24)
        self.url = f"http://{_HOST}:{self._socket.getsockname()[1]}/{self._secret}"
        """The address of the session."""
        self._variables = AgentVariables(self.url)
        self._conversations: dict[str, GatewayConversation] = {}
        self._calls: dict[asyncio.Task[object], GatewayConversation] = {}
        self._locks = MessageLocks()
        self._upstream = Upstream()
        self._unclaimed = ""
        self._runner: web.AppRunner | None = None
        self._starting: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Gateway({len(self._conversations)} conversations)"

    def variables(self, upstreams: Iterable[str], *, keyless: bool = False) -> AbstractContextManager[None]:
        """A time in which agents in this process find the address in their environment. From any thread.

        With `keyless`, they also find a key, if there is none.
        """
        return self._variables.needed(upstreams, keyless=keyless)

    async def start(self) -> None:
        """Serve from now on; a second call does nothing."""
        if self._starting is None:
            # In a context of its own: nothing here belongs to the conversation that happens to be the first.
            self._starting = contextvars.Context().run(asyncio.ensure_future, self._serve())
        await asyncio.shield(self._starting)

    async def _serve(self) -> None:
        with unlogged():
            app = web.Application(client_max_size=MOST_BODY, logger=_silent())
            app.router.add_route("*", "/{path:.*}", self._received)
            self._runner = web.AppRunner(
                app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=0.5
            )
            await self._runner.setup()
            await web.SockSite(self._runner, self._socket, backlog=_BACKLOG).start()

    async def aclose(self) -> None:
        """Stop serving. Calls that are under way are cut off."""
        for task in list(self._calls):
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
        self._socket.close()
        await self._upstream.aclose()

    @asynccontextmanager
    async def conversation(self, wire: Wire) -> AsyncIterator[GatewayConversation]:
        """A conversation's own address and its calls, for the time of a block."""
        await self.start()
        name = f"talk-{secrets.token_hex(8)}"
        opened = GatewayConversation(f"{self.url}/{name}", wire)
        if wire.hide is not None:
            wire.hide((self.url, self._secret))
        if self._unclaimed:
            # Whatever the agent has made of that refusal, its conversations may show it.
            opened.report(ModelCallRefused(self._unclaimed))
        self._conversations[name] = opened
        try:
            with self.variables(wire.upstreams, keyless=wire.keyless):
                yield opened
        finally:
            del self._conversations[name]
            await self._end_calls(opened)

    @asynccontextmanager
    async def turn(self, conversation: GatewayConversation, turn: TurnInFlight) -> AsyncIterator[float]:
        """The time in which an agent answers a message, and may call models for it.

        Without an address of its own, it begins when no other conversation answers an equal message. The
        block gets the seconds that this took, which aren't the agent's.
        """
        async with contextlib.AsyncExitStack() as stack:
            begun = time.monotonic()
            if not conversation.has_own_url:
                with current_clock().stop():
                    await stack.enter_async_context(self._locks.alone(turn.message))
            stack.enter_context(conversation.answering(turn))
            yield time.monotonic() - begun
            await self._settled(conversation)

    async def _settled(self, conversation: GatewayConversation) -> None:
        """Wait a moment for calls whose client has gone on, so that the turn has them as they ended."""
        if tasks := self._tasks_of(conversation):
            await asyncio.wait(tasks, timeout=_SETTLING)

    async def _end_calls(self, conversation: GatewayConversation) -> None:
        if tasks := self._tasks_of(conversation):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_SETTLING)

    def _tasks_of(self, conversation: GatewayConversation) -> list[asyncio.Task[object]]:
        return [task for task, owner in self._calls.items() if owner is conversation]

    # Requests

    async def _received(self, request: web.Request) -> web.StreamResponse:
        secret, _, rest = request.rel_url.raw_path.lstrip("/").partition("/")
        if not hmac.compare_digest(secret.encode("utf-8"), self._secret.encode("ascii")):
            return web.Response(status=404)
        if not _LOOPBACK.fullmatch(request.headers.get("Host", "")) or "Origin" in request.headers:
            # A page in a browser, by way of a name that leads here.
            return web.Response(status=403)
        name, _, path = rest.partition("/")
        own = _CONVERSATION.fullmatch(name) is not None
        try:
            asked = Asked(request.method, path if own else rest, await request.read())
        except web.HTTPRequestEntityTooLarge:
            return self._refused(Asked(request.method, path if own else rest), _TOO_LARGE, status=413)
        conversation = self._conversations.get(name) if own else await self._owner(asked)
        if conversation is not None:
            return await self._answered(conversation, Incoming(request, asked))
        return _response(refusal(path, _OVER, code="over")) if own else self._refused(asked, UNATTRIBUTED)

    async def _answered(self, conversation: GatewayConversation, incoming: Incoming) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler runs in one
        self._calls[task] = conversation
        try:
            return await AgentCall(conversation, incoming, self._upstream).answer()
        finally:
            del self._calls[task]

    async def _owner(self, asked: Asked) -> GatewayConversation | None:
        known = list(self._conversations.values())

        def find() -> int | None:
            return owner_of(RequestTexts(asked), known)

        place = await asyncio.to_thread(find) if len(asked.body) > _LARGE else find()
        return None if place is None else known[place]

    def _refused(self, asked: Asked, why: str, status: int = 400) -> web.Response:
        """Refuse a call of which nobody knows whose it is: any of the conversations may go on without it."""
        words = f"`{asked.method} {asked.path}`: {why}"
        for conversation in self._conversations.values():
            conversation.report(ModelCallRefused(words))
        if not self._conversations:
            self._unclaimed = words
        return _response(refusal(asked.path, words, status=status, code="unattributed"))


_OVER = "the conversation of this address is over: no model can be called for it any more"
_TOO_LARGE = f"the request is larger than {size(MOST_BODY)}, which is all that the gateway passes on"


def _response(answered: Answered) -> web.Response:
    return web.Response(status=answered.status, body=answered.body, headers=dict(answered.headers))


def _listening() -> socket.socket:
    """A socket on a free port of loopback. Raises `TargetStartError`."""
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
    """A logger that says nothing: what goes wrong with a connection may have addresses in it."""
    logger = logging.Logger("convoprobe-gateway")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
