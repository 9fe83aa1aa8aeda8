"""Where the agent's clients send their model calls: one server for all conversations of a session."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import re
import secrets
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import astuple
from pathlib import Path

from aiohttp import web

from ..errors import ModelCallRefused
from ..project_code.clock import current_clock
from .attribution import Claim, TurnInFlight, claim_of
from .calls import AgentCall, Incoming
from .conversation import GatewayConversation
from .exchange import Asked
from .loopback import TOO_LARGE, LoopbackServer, as_response
from .port import Wire
from .refusals import refusal
from .relay_link import CLAIM, FROM_RELAY, RelayLinks
from .texts import RequestTexts
from .turns import MessageLocks
from .upstream import Upstream
from .variables import AgentVariables

_CONVERSATION = re.compile(r"talk-[0-9a-f]{16}")
_LARGE = 200_000
"""The size of a request, in bytes, from which reading it may keep others waiting."""
_SETTLING = 0.5
_READING_ON = 10.0
"""Seconds that the end of a conversation waits for answers that its recording still needs."""

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

    def __init__(self, root: Path | None = None) -> None:
        self._server = LoopbackServer(self._received)
        self._relays = RelayLinks(root, self._server.url)
        self._variables = AgentVariables(self._server.url)
        self._conversations: dict[str, GatewayConversation] = {}
        self._calls: dict[asyncio.Task[web.StreamResponse], AgentCall] = {}
        self._locks = MessageLocks()
        self._upstream = Upstream()
        self._unclaimed = ""
        self._starting: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The address of the session."""
        return self._server.url

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
            self._starting = contextvars.Context().run(asyncio.ensure_future, self._server.start())
        await asyncio.shield(self._starting)

    async def aclose(self) -> None:
        """Stop serving. Calls that are under way are cut off."""
        for task in list(self._calls):
            task.cancel()
        await self._relays.aclose()
        await self._server.aclose()
        await self._upstream.aclose()

    @asynccontextmanager
    async def conversation(self, wire: Wire) -> AsyncIterator[GatewayConversation]:
        """A conversation's own address and its calls, for the time of a block."""
        await self.start()
        await self._relays.join()
        name = f"talk-{secrets.token_hex(8)}"
        opened = GatewayConversation(f"{self.url}/{name}", wire)
        if wire.hide is not None:
            wire.hide((self.url, self._server.secret, *self._relays.urls))
        # Whatever the agent has made of a refusal, its conversations may show it.
        for problem in filter(None, (self._unclaimed, self._relays.problem)):
            opened.report(ModelCallRefused(problem))
        self._conversations[name] = opened
        try:
            with self.variables(wire.upstreams, keyless=wire.keyless):
                yield opened
        except BaseException as error:
            # Nobody waits for a conversation that is cancelled, and it isn't recorded as a whole.
            await self._end_calls(name, _READING_ON if isinstance(error, Exception) else 0.0)
            raise
        await self._end_calls(name, _READING_ON)

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
                    await stack.enter_async_context(self._relays.alone(turn.message))
            stack.enter_context(conversation.answering(turn))
            try:
                yield time.monotonic() - begun
            except Exception:  # but not if it is cancelled: then nobody waits for its calls
                await self._settled(conversation)
                raise
            await self._settled(conversation)

    async def _settled(self, conversation: GatewayConversation) -> None:
        """Wait a moment for calls whose client has gone on, so that the turn has them as they ended."""
        calls = [call.over for call in self._calls.values() if call.conversation is conversation]
        if under_way := [over for over in calls if not over.done()]:
            await asyncio.wait(under_way, timeout=_SETTLING)

    async def _end_calls(self, name: str, reading_on: float) -> None:
        """End a conversation's calls. Answers that its recording needs have some seconds to come whole."""
        ended = self._conversations.pop(name)
        calls = {task: call for task, call in self._calls.items() if call.conversation is ended}
        try:
            if reading := [task for task, call in calls.items() if _left(task, call)]:
                await asyncio.wait(reading, timeout=reading_on)
        finally:
            for task in calls:
                task.cancel()
        if calls:
            await asyncio.wait(calls, timeout=_SETTLING)
        ended.end()

    # Requests

    async def _received(self, request: web.Request, rest: str) -> web.StreamResponse:
        name, _, path = rest.partition("/")
        own = _CONVERSATION.fullmatch(name) is not None
        try:
            asked = Asked(request.method, path if own else rest, await request.read())
        except web.HTTPRequestEntityTooLarge:
            return self._refused(Asked(request.method, path if own else rest), TOO_LARGE, status=413)
        if own:
            conversation = self._conversations.get(name)
        elif wish := request.headers.get(FROM_RELAY):
            return await self._claimed(asked) if wish == CLAIM else self._refused(asked, UNATTRIBUTED)
        else:
            conversation = self._conversations.get((await self._owner(asked))[0])
        if conversation is not None:
            return await self._answered(conversation, Incoming(request, asked))
        return as_response(refusal(path, _OVER, code="over")) if own else self._refused(asked, UNATTRIBUTED)

    async def _claimed(self, asked: Asked) -> web.Response:
        """For a relay, which has sessions to choose from: the conversation that a request fits best."""
        name, claim = await self._owner(asked)
        return web.json_response({"conversation": name, "claim": astuple(claim)} if claim else {})

    async def _answered(self, conversation: GatewayConversation, incoming: Incoming) -> web.StreamResponse:
        """In a task of its own: the one of the request is cancelled when the agent's client goes away."""
        call = AgentCall(conversation, incoming, self._upstream)
        task = asyncio.ensure_future(call.answer())
        self._calls[task] = call
        task.add_done_callback(self._calls.pop)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            _left(task, call)
            raise

    async def _owner(self, asked: Asked) -> tuple[str, Claim | None]:
        """The name of the conversation that a request belongs to, empty if that isn't certain."""
        known = dict(self._conversations)

        def find() -> tuple[int, Claim] | None:
            return claim_of(RequestTexts(asked), known.values())

        found = await asyncio.to_thread(find) if len(asked.body) > _LARGE else find()
        return ("", None) if found is None else (list(known)[found[0]], found[1])

    def _refused(self, asked: Asked, why: str, status: int = 400) -> web.Response:
        """Refuse a call of which nobody knows whose it is: any of the conversations may go on without it."""
        words = f"`{asked.method} {asked.path}`: {why}"
        for conversation in self._conversations.values():
            conversation.report(ModelCallRefused(words))
        if not self._conversations:
            self._unclaimed = words
        return as_response(refusal(asked.path, words, status=status, code="unattributed"))


def _left(task: asyncio.Task[web.StreamResponse], call: AgentCall) -> bool:
    """Nobody waits for a call's answer any more: end it. Whether it goes on, for the recording."""
    goes_on = call.leave()
    if not goes_on:
        task.cancel()
    return goes_on


_OVER = "the conversation of this address is over: no model can be called for it any more"
