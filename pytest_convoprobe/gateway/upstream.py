"""Passes a request on to a provider, with the agent's own headers."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from ..llm.connection import UnusableEnvironment, proxy_for, trust
from .exchange import Asked

Headers = Iterable[tuple[str, str]]

_HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    )
)
# Bodies come unpacked, and are measured again when they are sent.
_OF_BODIES = frozenset(("content-length", "content-encoding"))
_OF_REQUESTS = frozenset(("host", "accept-encoding", "expect"))
_SILENCE = 600.0
"""Seconds without a byte after which a provider is taken for lost: as long as its own clients wait."""
_CONNECTING = 30.0


class UpstreamLost(Exception):
    """No answer came from the provider, or no whole one. The message has no secrets."""


class UpstreamRedirects(Exception):
    """The provider's answer sends to another address, where nobody has allowed the agent's key to go."""


class Upstream:
    """The way to the providers: one pool of connections, without cookies, on one event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @asynccontextmanager
    async def sent(self, url: str, asked: Asked, headers: Headers) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer, with a body to be read. Raises `UpstreamRedirects`; `UpstreamLost` in the block too."""
        try:
            async with self._opened().request(
                asked.method,
                URL(url, encoded=True),
                # Of bytes, aiohttp warns if they are many.
                data=io.BytesIO(asked.body) if asked.body else None,
                headers=[*_passing(headers, _OF_REQUESTS), ("Accept-Encoding", "identity")],
                skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
                allow_redirects=False,
                proxy=_proxy(url),
                ssl=trust() if url.startswith("https:") else True,
            ) as answer:
                if 300 <= answer.status < 400 and "location" in answer.headers:
                    raise UpstreamRedirects(_shown(answer.headers["location"]))
                yield answer
        except UnusableEnvironment as error:
            raise UpstreamLost(str(error)) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UpstreamLost(f"{type(error).__name__} at {_shown(url)}") from None

    async def aclose(self) -> None:
        """Close the connections; none is opened any more."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._closed:
            raise UpstreamLost("the run is over")
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING, sock_read=_SILENCE)
            connector = aiohttp.TCPConnector(limit=0)
            cookies = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=cookies)
        return self._session


def answer_headers(answer: aiohttp.ClientResponse) -> list[tuple[str, str]]:
    """The headers of an answer that reach the agent's client."""
    return _passing(answer.headers.items(), frozenset())


def _proxy(url: str) -> str | None:
    """The proxy of the environment for an address. Raises `UpstreamLost` for one that can't be used."""
    proxy = proxy_for(url)
    if proxy is not None and not proxy.startswith(("http://", "https://")):
        raise UpstreamLost("the proxy in the environment speaks another protocol than HTTP")
    return proxy


def _passing(headers: Headers, without: frozenset[str]) -> list[tuple[str, str]]:
    every = list(headers)
    # A connection may name further headers that are meant for itself alone.
    named = {
        word.strip().lower()
        for name, value in every
        if name.lower() == "connection"
        for word in value.split(",")
    }
    left_out = _HOP_BY_HOP | _OF_BODIES | named | without
    return [(name, value) for name, value in every if name.lower() not in left_out]


def _shown(url: str) -> str:
    """An address without what may be secret."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        return "an address that can't be read"
