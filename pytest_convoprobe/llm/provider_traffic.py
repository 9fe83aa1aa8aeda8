"""What may come over LiteLLM's connections: no redirect to another host, and no answer without end.

LiteLLM follows redirects, as does the client of OpenAI below it. Both would take the conversation along, and
any key that isn't in the header `Authorization`. Both read an answer whole, however large. No setting of
theirs changes that for all providers, so the place is watched where LiteLLM makes its connections. Calls of
others, such as an agent that uses LiteLLM itself, are not touched.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx

from ..cutting import most_bytes
from ..http_body import ACCEPTED, DecodingError, unpacked
from .connection import other_host, redirected, too_large

Send = Callable[[httpx.Request], Awaitable[httpx.Response]]

_MARK = "_watched_by_convoprobe"
# Of the body as it was sent, which is handed on unpacked.
_OF_THE_BODY = frozenset(("content-encoding", "content-length", "transfer-encoding"))


@dataclass
class Watch:
    """One call. `stopped` says why its connection was given up; empty if it wasn't."""

    most_text: int
    stopped: str = ""


_WATCH: ContextVar[Watch | None] = ContextVar("convoprobe_watch", default=None)


@contextmanager
def watched(most_text: int) -> Iterator[Watch]:
    """Watch the connections of a call that begins in the block."""
    watch = Watch(most_text)
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


def watch_connections_of(handler: Any) -> None:
    """Watch what LiteLLM's class `AsyncHTTPHandler` makes; a second time, this does nothing."""
    make = getattr(handler, "create_async_transport", None)
    if make is None or hasattr(handler, _MARK):
        return

    @functools.wraps(make)
    def made(*arguments: Any, **keywords: Any) -> Any:
        transport = make(*arguments, **keywords)
        if transport is not None:
            transport.handle_async_request = functools.partial(_handled, transport.handle_async_request)
        return transport

    handler.create_async_transport = staticmethod(made)
    setattr(handler, _MARK, True)


async def _handled(handle: Send, request: httpx.Request) -> httpx.Response:
    watch = _WATCH.get()
    if watch is None:
        return await handle(request)
    request.headers["accept-encoding"] = ACCEPTED
    response = await handle(request)
    try:
        if response.has_redirect_location and (host := _other_host(request, response)):
            watch.stopped = redirected(host)
            raise httpx.ReadError("a redirect to another host", request=request)
        return await _bounded(response, request, watch)
    finally:
        await response.aclose()


async def _bounded(response: httpx.Response, request: httpx.Request, watch: Watch) -> httpx.Response:
    most = most_bytes(watch.most_text)
    encoding = response.headers.get("content-encoding", "")
    try:
        body = await unpacked(_pieces(response), encoding, most)
    except DecodingError as error:
        raise httpx.DecodingError(str(error), request=request) from None
    if body is None:
        watch.stopped = too_large(watch.most_text)
        raise httpx.ReadError("an answer that is too large", request=request)
    headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _OF_THE_BODY]
    return httpx.Response(
        response.status_code,
        headers=headers,
        # As a stream, which is read as any other: clients measure its time.
        stream=httpx.ByteStream(body),
        request=request,
        extensions=response.extensions,
    )


async def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 - the transport is an asynchronous one
    async for piece in stream:
        yield piece


def _other_host(request: httpx.Request, response: httpx.Response) -> str:
    return other_host(str(request.url), response.headers["location"])
