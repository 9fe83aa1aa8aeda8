"""The address of a service that runs beside pytest: it stays, while sessions come and go.

Each request goes to the session whose conversation it belongs to. With several sessions, such as the workers
of xdist, each says how well the request fits one of its conversations, and the best one gets it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from ..outside_json import read_json
from .attribution import Claim
from .exchange import Answered, Asked
from .loopback import TOO_LARGE, LoopbackServer, as_response
from .refusals import refusal
from .relay_file import is_address
from .relay_link import CLAIM, FROM_RELAY, REFUSE, SESSIONS, TURNS
from .turns import MessageLocks
from .upstream import Upstream, UpstreamLost, UpstreamRedirects, answer_headers

NO_SESSION = (
    "no session of pytest is there to answer this model call: start pytest in the project of `convoprobe "
    "gateway`, with a target that has `models`"
)
_KEPT = ("content-type", "x-should-retry")
_LOST = "the session of pytest that had this model call has ended"


class Relay:
    """The server. Its address is known at once, and it answers after `start`."""

    def __init__(self) -> None:
        self._server = LoopbackServer(self._received)
        self._sessions: dict[str, None] = {}
        self._locks = MessageLocks()
        self._upstream = Upstream()
        self._ending = asyncio.Event()

    @property
    def url(self) -> str:
        """What a service is to call instead of its providers."""
        return self._server.url

    async def start(self) -> None:
        await self._server.start()

    async def aclose(self) -> None:
        self._ending.set()
        await self._server.aclose()
        await self._upstream.aclose()

    async def _received(self, request: web.Request, path: str) -> web.StreamResponse:
        if path == SESSIONS:
            return await self._joined(request, await request.json())
        if path == TURNS:
            return await self._turn(request, await request.json())
        try:
            asked = Asked(request.method, path, await request.read())
        except web.HTTPRequestEntityTooLarge:
            return as_response(refusal(path, TOO_LARGE, status=413, code="too_large"))
        if not self._sessions:
            return as_response(refusal(path, NO_SESSION, status=503, code="no_session"))
        headers = [pair for pair in request.headers.items() if pair[0].lower() != FROM_RELAY.lower()]
        if len(self._sessions) == 1:
            return await self._passed(request, next(iter(self._sessions)), asked, headers)
        owner = await self._owner(asked, headers)
        if owner is not None:
            return await self._passed(request, owner, asked, headers)
        refusals = [self._whole(url, asked, [*headers, (FROM_RELAY, REFUSE)]) for url in self._sessions]
        found = [one for one in await asyncio.gather(*refusals) if one is not None]
        return as_response(found[0] if found else refusal(path, NO_SESSION, status=503, code="no_session"))

    # Sessions

    async def _joined(self, request: web.Request, data: Any) -> web.StreamResponse:
        """A session is there until its connection is closed."""
        url = str(data["url"]) if isinstance(data, Mapping) and "url" in data else ""
        if not is_address(url):
            return web.Response(status=400)
        self._sessions[url] = None
        try:
            return await self._open_ended(request)
        finally:
            self._sessions.pop(url, None)

    async def _turn(self, request: web.Request, data: Any) -> web.StreamResponse:
        """A session is alone with a message until its connection is closed."""
        message = str(data["message"]) if isinstance(data, Mapping) and "message" in data else ""
        async with self._locks.alone(message):
            return await self._open_ended(request)

    async def _open_ended(self, request: web.Request) -> web.StreamResponse:
        """An answer that begins now and ends with this server, or when its client goes away."""
        response = web.StreamResponse()
        await response.prepare(request)
        # Something, so that a client sees that the answer has begun.
        await response.write(b"\n")
        await self._ending.wait()
        return response

    async def _owner(self, asked: Asked, headers: list[tuple[str, str]]) -> str | None:
        """The address of the conversation that a request belongs to; None if that isn't certain."""
        asking = [self._claim(url, asked, headers) for url in self._sessions]
        claims = [found for found in await asyncio.gather(*asking) if found is not None]
        best = max((claim for claim, _ in claims), default=None)
        found = [url for claim, url in claims if claim == best]
        return found[0] if len(found) == 1 else None

    async def _claim(
        self, url: str, asked: Asked, headers: list[tuple[str, str]]
    ) -> tuple[Claim, str] | None:
        answered = await self._whole(url, asked, [*headers, (FROM_RELAY, CLAIM)])
        return None if answered is None else _claim_in(answered, url)

    # Requests

    async def _whole(self, url: str, asked: Asked, headers: list[tuple[str, str]]) -> Answered | None:
        """The whole answer of a session; None if it has ended."""
        try:
            async with self._upstream.sent(f"{url}/{asked.path}", asked, headers) as answer:
                kept = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
                return Answered(answer.status, await answer.read(), kept)
        except (UpstreamLost, UpstreamRedirects):
            return None

    async def _passed(
        self, request: web.Request, url: str, asked: Asked, headers: list[tuple[str, str]]
    ) -> web.StreamResponse:
        """The answer of a session, as it comes."""
        query = request.rel_url.raw_query_string
        address = f"{url}/{asked.path}" + (f"?{query}" if query else "")
        response: web.StreamResponse | None = None
        try:
            async with self._upstream.sent(address, asked, headers) as answer:
                response = web.StreamResponse(
                    status=answer.status, headers=CIMultiDict(answer_headers(answer))
                )
                response.content_length = answer.content_length
                await response.prepare(request)
                async for piece in answer.content.iter_any():
                    await response.write(piece)
        except (UpstreamLost, UpstreamRedirects):
            if response is None and not any(url.startswith(one) for one in self._sessions):
                return as_response(refusal(asked.path, _LOST, status=503, code="no_session"))
            # The session has closed its connection: that is the answer, such as of a fault.
            if request.transport is not None:
                request.transport.close()
        return response or web.Response()


def _claim_in(answered: Answered, url: str) -> tuple[Claim, str] | None:
    """What a session claims: how well the request fits, and the address of its conversation."""
    try:
        data = read_json(answered.body)
        return (Claim(*map(int, data["claim"])), f"{url}/{data['conversation']}") if data else None
    except (ValueError, TypeError, KeyError):
        return None
