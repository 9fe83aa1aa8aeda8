"""Requests to a service and what comes back, whole or as a stream.

All that goes wrong is `TargetUnavailable`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar

import httpx

from ...cutting import most_bytes
from ...errors import ScenarioError, TargetUnavailable
from ...forbidden_sockets import ALLOW_HOSTS, forbids_sockets
from ...formatting import exact_seconds, size
from ...http_body import ACCEPTED, DecodingError, unpacked, unpacked_pieces
from ...own_traffic import unlogged
from ...project_code.tracebacks import clean, describe
from ...redaction import Redactor
from ...transcript import Reply
from .answer import HttpAnswer
from .reading import Carried
from .recipe import TEMPLATE_ERRORS, RequestParts
from .stream_events import PARSERS, EventParser
from .stream_reading import StreamedReply
from .templates import MissingMetadata

T = TypeVar("T")

_AT_ONCE = 50
"""How many events are read before other conversations have their turn."""
_HEAD = 20_000
"""How many bytes of a stream are kept for the message of an error."""


class Sender:
    """Sends the requests of one target. All conversations share its pool of connections."""

    def __init__(self, name: str, timeout: float, secrets: tuple[str, ...]) -> None:
        self._name = name
        self._timeout = timeout
        self._secrets = secrets
        self._redactor = Redactor(secrets)
        self._client: httpx.AsyncClient | None = None

    async def answer(
        self, request: Callable[[], RequestParts], cookies: httpx.Cookies, most_text: int
    ) -> tuple[HttpAnswer, RequestParts]:
        """The answer to a request, and the request. Raises `TargetUnavailable`."""
        asked, most = self._filled(request), most_bytes(most_text)
        answer = await self._guarded(self._whole(asked, cookies, most), asked, "no answer")
        if answer is None:
            allowed = f"the most that is read with `run.max_text: {most_text}`"
            raise self.failure(f"the answer is larger than {size(most)}, {allowed}", asked)
        return answer, asked

    async def stream(
        self,
        request: Callable[[], RequestParts],
        cookies: httpx.Cookies,
        most_text: int,
        reply: StreamedReply,
        kind: str,
    ) -> tuple[Reply, Carried]:
        """What `reply` makes of the events of an answer, until its end. Raises `TargetUnavailable`."""
        asked = self._filled(request)
        coming = self._events(asked, cookies, most_text, reply, kind)
        return await self._guarded(coming, asked, "the stream did not end")

    def failure(
        self, reason: str, asked: RequestParts | None = None, answer: HttpAnswer | None = None
    ) -> TargetUnavailable:
        """The error with the real address, without secrets, and with the start of the answer."""
        # A service may give out a key for a session, and quote it in its errors.
        redactor = Redactor((*self._secrets, *asked.secrets)) if asked and asked.secrets else self._redactor
        where = self._name if asked is None else clean(asked.shown, redactor)
        lines = [f"{where}: {clean(reason, redactor)}"]
        if answer is not None:
            lines.append(answer.excerpt(redactor))
        return TargetUnavailable("\n".join(lines))

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _filled(self, request: Callable[[], RequestParts]) -> RequestParts:
        try:
            return request()
        except MissingMetadata as error:
            raise ScenarioError(
                f"{self._name}: the request can't be made: {error}. Write it in the scenario, or give the "
                "template a value without it: `{{ metadata.name | default('…') }}`"
            ) from None
        except TEMPLATE_ERRORS as error:
            raise self.failure(f"the request failed: {describe(error)}") from None

    async def _guarded(self, sending: Coroutine[Any, Any, T], asked: RequestParts, late: str) -> T:
        try:
            return await asyncio.wait_for(sending, self._timeout)
        except (TimeoutError, asyncio.TimeoutError):
            raise self.failure(f"{late} within {exact_seconds(self._timeout)}", asked) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            reason = f"no connection; is the service running? ({describe(error)})"
            raise self.failure(reason, asked) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, DecodingError) as error:
            raise self.failure(f"the request failed: {describe(error)}", asked) from None
        except TargetUnavailable:
            raise
        except Exception as error:
            # pytest-socket's errors aren't those of a network, so httpx lets them through.
            if not forbids_sockets(describe(error)):
                raise
            raise self.failure(f"no connection: {ALLOW_HOSTS}", asked) from None

    async def _whole(self, asked: RequestParts, cookies: httpx.Cookies, most: int) -> HttpAnswer | None:
        async with self._response(asked, cookies) as response:
            return await _read_whole(response, most)

    async def _events(
        self, asked: RequestParts, cookies: httpx.Cookies, most_text: int, reply: StreamedReply, kind: str
    ) -> tuple[Reply, Carried]:
        async with self._response(asked, cookies) as response:
            if not 200 <= response.status_code <= 299:
                answer = await _read_whole(response, most_bytes(most_text))
                self._refuse(asked, answer or HttpAnswer(response.status_code, dict(response.headers), b""))
            head = bytearray()
            try:
                await _take_events(response, PARSERS[kind](most_bytes(most_text)), reply, head)
                return reply.result()
            except ValueError as error:
                answer = HttpAnswer(response.status_code, dict(response.headers), bytes(head))
                raise self.failure(str(error), asked, answer) from None
            except httpx.TransportError as error:
                reason = f"the stream broke off after {reply.events} events: {describe(error)}"
                raise self.failure(reason, asked) from None

    def _refuse(self, asked: RequestParts, answer: HttpAnswer) -> None:
        try:
            answer.require_success()
        except ValueError as error:
            raise self.failure(f"status {answer.status}: {error}", asked, answer) from None

    @asynccontextmanager
    async def _response(self, asked: RequestParts, cookies: httpx.Cookies) -> AsyncIterator[httpx.Response]:
        with unlogged():
            client = self._open()
            request = client.build_request(
                asked.method, asked.url, headers=asked.headers, content=asked.content
            )
            cookies.set_cookie_header(request)
            response = await client.send(request, stream=True)
            try:
                cookies.extract_cookies(response)
                yield response
            finally:
                await response.aclose()

    def _open(self) -> httpx.AsyncClient:
        """Made on the loop that it is used on. It keeps no cookies, and conversations are limited elsewhere.

        A redirect is not followed: it would take secret headers along to wherever it leads.
        """
        if self._client is None:
            self._client = httpx.AsyncClient(
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                timeout=self._timeout,
                headers={"accept-encoding": ACCEPTED},
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            )
        return self._client


async def _read_whole(response: httpx.Response, most: int) -> HttpAnswer | None:
    encoding = response.headers.get("content-encoding", "")
    body = await unpacked(response.aiter_raw(), encoding, most)
    return None if body is None else HttpAnswer(response.status_code, dict(response.headers), body)


async def _take_events(
    response: httpx.Response, parser: EventParser, reply: StreamedReply, head: bytearray
) -> None:
    """Until the last event, which may come long before the service closes the connection."""
    encoding = response.headers.get("content-encoding", "")
    async for piece in unpacked_pieces(response.aiter_raw(), encoding):
        head += piece[: _HEAD - len(head)]
        for event in parser.feed(piece):
            if reply.add(event):
                return
            if not reply.events % _AT_ONCE:
                # Other conversations talk on this loop, and a fast stream would never let them.
                await asyncio.sleep(0)
    for event in parser.feed(b"", last=True):
        if reply.add(event):
            return
