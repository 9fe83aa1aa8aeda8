"""One request over a session of aiohttp: its answer as bytes, within limits, and never from another host."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from ..cutting import most_bytes
from ..http_body import DecodingError, unpacked
from .connection import other_host, proxy_for, redirected, too_large, trust

if TYPE_CHECKING:
    import aiohttp

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 5
_ROUTE = "/chat/completions"


@dataclass(frozen=True)
class RawAnswer:
    """What a server answered. `stopped` says why it was given up; then there is no body.

    Names of headers are in lower case.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    stopped: str = ""


@dataclass(frozen=True)
class Route:
    """The way to a server: its address, the user and password in it as a header, the proxy, whom to trust."""

    address: str
    authorization: str | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)
    trusted: ssl.SSLContext | bool = True


def route_to(base: str) -> Route:
    """The way to the chat completions below an address. Raises `UnusableEnvironment`."""
    parts = urlsplit(base)
    # Some write the whole address of the route.
    path = parts.path.rstrip("/").removesuffix(_ROUTE) + _ROUTE
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=path)
    address, user = urlunsplit(bare), None
    if parts.username is not None:
        named = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        user = f"Basic {base64.b64encode(named.encode()).decode()}"
    return Route(address, user, proxy_for(address), trust() if parts.scheme == "https" else True)


async def posted(
    session: aiohttp.ClientSession, route: Route, headers: Mapping[str, str], body: bytes, most_text: int
) -> RawAnswer:
    """The answer to a request. Redirects are followed on the same host only."""
    address = route.address
    for _ in range(_MOST_REDIRECTS):
        async with session.post(
            address, data=body, headers=headers, allow_redirects=False, proxy=route.proxy, ssl=route.trusted
        ) as response:
            location = response.headers.get("location") if response.status in _REDIRECTS else None
            if location is None:
                return await _read(response, most_text)
            if host := other_host(address, location):
                return RawAnswer(response.status, stopped=redirected(host))
            address = urljoin(address, location)
    return RawAnswer(response.status, stopped=f"redirects more than {_MOST_REDIRECTS} times")


async def _read(response: aiohttp.ClientResponse, most_text: int) -> RawAnswer:
    encoding = response.headers.get("content-encoding", "")
    try:
        body = await unpacked(_pieces(response), encoding, most_bytes(most_text))
    except DecodingError:
        if response.status < 400:
            raise
        body = b""  # the status says enough
    if body is None:
        return RawAnswer(response.status, stopped=too_large(most_text))
    return RawAnswer(response.status, {name.lower(): value for name, value in response.headers.items()}, body)


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    # Not `iter_chunks`, which never ends for an answer that has no body.
    async for piece in response.content.iter_any():
        yield piece
