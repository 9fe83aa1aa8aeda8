"""One model call of an agent's on its way: a fault, the recording, or the provider; and back to the agent."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from ..errors import ConvoprobeError, ModelCallRefused, ReplayMiss
from ..formatting import size
from ..llm.protocols.events import EVENT_STREAM, pieces
from ..llm.recorded_answer import KEPT_HEADERS
from .conversation import GatewayConversation
from .exchange import Answered, Asked
from .loopback import MOST_BODY
from .paths import joined, upstream_for
from .port import Injection
from .refusals import refusal
from .streams import ends_stream
from .upstream import Headers, Upstream, UpstreamLost, UpstreamRedirects, answer_headers

_LAST_SECONDS = 1.0
"""How long the end of a stream is waited for after its last event."""
_MOST_SECONDS = 120.0
"""How long an answer that the agent doesn't wait for is read on for the recording."""


@dataclass(frozen=True)
class Incoming:
    """A request as it came. Its headers and its query may be secret: they go on, and are kept nowhere."""

    request: web.Request
    asked: Asked

    def __repr__(self) -> str:
        return f"Incoming({self.asked.method} {self.asked.path})"

    @property
    def headers(self) -> Headers:
        return self.request.headers.items()

    @property
    def query(self) -> str:
        return self.request.rel_url.raw_query_string


class AgentCall:
    """A call that belongs to a conversation."""

    def __init__(self, conversation: GatewayConversation, incoming: Incoming, upstream: Upstream) -> None:
        self.conversation = conversation
        self._wire = conversation.wire
        self._incoming = incoming
        self._asked = incoming.asked
        self._upstream = upstream
        self._number = conversation.begin(incoming.asked)
        self._started = time.perf_counter()
        self._kept = bytearray()
        self._coming: aiohttp.ClientResponse | None = None
        self._sending: web.StreamResponse | None = None
        self._whole = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done as soon as it is known how the call ended for the agent."""

    async def answer(self) -> web.StreamResponse:
        """The response; one that was cut off is on a connection that is closed."""
        # Both at once, before anything is awaited: what is counted there must not depend on timing.
        fault = self._wire.faults.strike(self._asked) if self._wire.faults is not None else None
        replaced = fault is not None and (fault.closes or fault.answer is not None)
        try:
            recorded = None if replaced else self._recorded()
        except ConvoprobeError as error:
            return await self._refused(error, "replay_miss" if isinstance(error, ReplayMiss) else "settings")
        try:
            if fault is not None:
                self.conversation.update(self._number, fault=fault.words)
                await asyncio.sleep(fault.delay)
                if replaced:
                    return await self._replaced(fault)
            cut = fault is not None and fault.cut
            return await (self._live(cut) if recorded is None else self._replayed(recorded, cut))
        except _ClientGone:
            return self._cut_off()
        finally:  # the client went away, or the conversation is over
            self._finish(self._so_far(), broken_off=True)

    def leave(self) -> bool:
        """Nobody waits for the answer any more. Whether the rest of it is still read, for the recording.

        A replay sends the whole answer, and leaves it to the agent to stop again.
        """
        self._finish(self._so_far(), broken_off=True)
        reads_on = self._wire.tape is not None and self._coming is not None and not self._whole
        if reads_on and (transport := self._incoming.request.transport) is not None:
            transport.abort()  # `close` would wait until everything is read that was written
        return reads_on

    def _recorded(self) -> Answered | None:
        at = self.conversation
        tape = self._wire.tape
        return None if tape is None else tape.recorded(self._asked, at.last_turn, at.said)

    # Answers that no provider gives

    async def _refused(self, error: ConvoprobeError, code: str, *, unsent: bool = True) -> web.StreamResponse:
        """An answer that ends the conversation as an error, whatever the agent makes of it."""
        self.conversation.report(error)
        self._finish(None, problem=str(error), unsent=unsent)
        return await self._sent(refusal(self._asked.path, str(error), code=code))

    async def _replaced(self, fault: Injection) -> web.StreamResponse:
        self._finish(fault.answer, replaced=True)
        return self._cut_off() if fault.answer is None else await self._sent(fault.answer)

    async def _replayed(self, recorded: Answered, cut: bool) -> web.StreamResponse:
        self._finish(recorded, replayed=True, broken_off=cut)
        return await self._sent(recorded, cut=cut)

    # The provider's answer

    async def _live(self, cut: bool) -> web.StreamResponse:
        name = upstream_for(self._asked.path, self._wire.upstreams)
        base = self._wire.upstreams.get(name or "")
        if base is None:
            return await self._refused(_not_set(self._asked, name), "no_upstream")
        if self._wire.ledger is not None:
            try:
                self._wire.ledger.before(self._asked)
            except ConvoprobeError as error:
                return await self._refused(error, "not_permitted")
        url = joined(base, self._asked.path, self._incoming.query)
        try:
            async with self._upstream.sent(url, self._asked, self._incoming.headers) as answer:
                self._coming = answer
                try:
                    whole = cut or answer.content_length is not None
                    return await (self._collected(answer, cut) if whole else self._streamed(answer))
                except _ClientGone:
                    await self._read_on(answer)
                    raise
        except UpstreamRedirects as redirect:
            return await self._refused(_redirects(name, redirect), "redirect", unsent=False)
        except _TooLong:
            return await self._refused(_too_long(self._asked), "answer_too_long", unsent=False)
        except UpstreamLost as lost:
            return await self._lost(f"`target.models.{name}` gave no whole answer: {lost}")

    async def _lost(self, problem: str) -> web.StreamResponse:
        """The provider is to blame, and clients may try again."""
        self._finish(self._so_far(), problem=problem)
        answer = refusal(self._asked.path, problem, status=502, code="upstream_lost", retry=True)
        return await self._sent(answer)

    async def _collected(self, answer: aiohttp.ClientResponse, cut: bool) -> web.StreamResponse:
        async for piece in answer.content.iter_any():
            self._keep(piece)
        whole = self._completed(answer, broken_off=cut)
        return await self._sent(whole, answer_headers(answer), cut=cut)

    async def _streamed(self, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """Each piece as it comes. The end comes last: who has read it finds the call complete."""
        response = await self._begun(answer.status, answer_headers(answer))
        is_stream = answer.content_type == EVENT_STREAM
        last = b""
        async for piece in answer.content.iter_any():
            self._keep(piece)
            if is_stream and ends_stream(self._kept):
                last = piece + await self._rest(answer)
                break
            await self._write(piece)
        self._completed(answer)
        await self._write(last)
        return response

    async def _read_on(self, answer: aiohttp.ClientResponse) -> None:
        """Read what the agent doesn't wait for, since the recording needs the answer whole."""
        if not self.leave():
            return
        with contextlib.suppress(asyncio.TimeoutError, aiohttp.ClientError, OSError, _TooLong):
            await asyncio.wait_for(self._to_its_end(answer), _MOST_SECONDS)
            self._completed(answer)

    async def _to_its_end(self, answer: aiohttp.ClientResponse) -> None:
        is_stream = answer.content_type == EVENT_STREAM
        async for piece in answer.content.iter_any():
            self._keep(piece)
            if is_stream and ends_stream(self._kept):
                await self._rest(answer)
                return

    async def _rest(self, answer: aiohttp.ClientResponse) -> bytes:
        """What still comes after the last event: usually the end, at once."""
        known = len(self._kept)

        async def read() -> None:
            async for piece in answer.content.iter_any():
                self._keep(piece)

        with contextlib.suppress(asyncio.TimeoutError, aiohttp.ClientError):
            await asyncio.wait_for(read(), _LAST_SECONDS)
        return bytes(self._kept[known:])

    def _keep(self, piece: bytes) -> None:
        self._kept += piece
        if len(self._kept) > MOST_BODY:
            raise _TooLong

    def _completed(self, answer: aiohttp.ClientResponse, *, broken_off: bool = False) -> Answered:
        """The whole answer, which is recorded."""
        whole = _answered(answer, self._kept)
        self._whole = True
        self._finish(whole, broken_off=broken_off)
        if self._wire.tape is not None:
            call = self.conversation.calls[self._number]
            self._wire.tape.keep(self._asked, whole, call.turn, call.seconds)
        return whole

    def _so_far(self) -> Answered | None:
        return _answered(self._coming, self._kept) if self._coming is not None else None

    def _finish(self, answered: Answered | None, **changes: Any) -> None:
        """The call is over for the agent, however it ended; what comes later doesn't change that."""
        if self.over.done():
            return
        self.over.set_result(None)
        seconds = time.perf_counter() - self._started
        if answered is not None:
            self.conversation.seen.learn(answered)
        call = self.conversation.update(self._number, answered=answered, seconds=seconds, **changes)
        if self._wire.ledger is not None:
            self._wire.ledger.after(call)

    # The way back

    async def _sent(
        self, answered: Answered, headers: Headers | None = None, *, cut: bool = False
    ) -> web.StreamResponse:
        """A whole answer, a stream event by event; with `cut`, half of it, and then the end."""
        if self._sending is not None:
            return self._cut_off()  # another one has begun already
        given = list(headers if headers is not None else answered.headers.items())
        is_stream = answered.content_type == EVENT_STREAM
        response = await self._begun(answered.status, given, None if is_stream else len(answered.body))
        parts = list(pieces(answered.body)) if is_stream else [answered.body]
        for piece in _half(parts) if cut else parts:
            await self._write(piece)
        return self._cut_off() if cut else response

    async def _begun(self, status: int, headers: Headers, length: int | None = None) -> web.StreamResponse:
        if self._incoming.request.transport is None:
            raise _ClientGone
        self._sending = response = web.StreamResponse(status=status, headers=CIMultiDict(headers))
        response.content_length = length
        try:
            await response.prepare(self._incoming.request)
        except (ConnectionError, aiohttp.ClientConnectionError):
            raise _ClientGone from None
        return response

    async def _write(self, piece: bytes) -> None:
        try:
            if piece and self._sending is not None:
                await self._sending.write(piece)
        except (ConnectionError, aiohttp.ClientConnectionError):
            raise _ClientGone from None

    def _cut_off(self) -> web.StreamResponse:
        """Close the connection; what was written before still arrives."""
        if self._incoming.request.transport is not None:
            self._incoming.request.transport.close()
        return self._sending or web.Response()


class _ClientGone(Exception):
    """The agent's client doesn't read its answer any more."""


class _TooLong(Exception):
    pass


def _answered(answer: aiohttp.ClientResponse, body: bytes | bytearray) -> Answered:
    kept = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
    return Answered(answer.status, bytes(body), kept)


def _half(pieces: list[bytes]) -> list[bytes]:
    if len(pieces) > 1:
        return pieces[: len(pieces) // 2]
    return [piece[: len(piece) // 2] for piece in pieces]


def _not_set(asked: Asked, name: str | None) -> ModelCallRefused:
    return ModelCallRefused(
        f"the agent called a model at `{asked.path}`, but `target.models.{name or 'openai'}` isn't set: "
        "name the address of the provider there"
    )


def _redirects(name: str | None, redirect: UpstreamRedirects) -> ModelCallRefused:
    return ModelCallRefused(
        f"`target.models.{name}` answered with a redirect to {redirect}. It isn't followed, since the "
        "agent's key would go there: name that address in the settings if it is right"
    )


def _too_long(asked: Asked) -> ModelCallRefused:
    return ModelCallRefused(
        f"the answer to the agent's model call `{asked.path}` is longer than {size(MOST_BODY)}, which is all "
        "that the gateway passes on"
    )
