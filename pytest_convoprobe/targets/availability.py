"""Which errors mean that something was not available: the network, a server, a provider.

By the names of classes, so that nothing needs to be installed or imported to tell them.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import urllib.error
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import TargetUnavailable

_UNAVAILABLE = frozenset(
    {
        "aiohttp.ClientConnectionError",
        "anyio.BrokenResourceError",
        "anyio.ClosedResourceError",
        "a2a.A2AClientTimeoutError",
        "botocore.ConnectionError",
        "botocore.HTTPClientError",
        "httpx.NetworkError",
        "httpx.ProxyError",
        "httpx.RemoteProtocolError",
        "httpx.TimeoutException",
        "httpx2.NetworkError",
        "httpx2.ProxyError",
        "httpx2.RemoteProtocolError",
        "httpx2.TimeoutException",
        "litellm.APIConnectionError",
        "litellm.Timeout",
        "redis.ConnectionError",
        "redis.TimeoutError",
        "requests.ConnectionError",
        "requests.Timeout",
        "strands.ModelThrottledException",
        "urllib3.HTTPError",
        "websockets.ConnectionClosed",
    }
)
# The SDKs of many providers are made by one generator, and name their classes alike.
_OF_SDKS = frozenset({"APIConnectionError", "APITimeoutError"})
_MCP_CODES = frozenset({-32000, -32001, 408})
"""The connection was closed, or a request got no answer in time; in both majors of the package."""
_AWS_CODES = frozenset(
    {
        "InternalServerException",
        "ModelNotReadyException",
        "ModelTimeoutException",
        "ServiceUnavailableException",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_TYPES = (ConnectionError, TimeoutError, asyncio.TimeoutError, ssl.SSLError, TargetUnavailable)
_ERRNOS = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.ETIMEDOUT})

# A bug met while another error was handled is a bug, whatever that error was.
_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
)


def is_unavailable(error: BaseException) -> bool:
    """Whether it, or what it was raised from, is a fault of the network, a server or a provider."""
    links = list(chain_of(error))
    # Of several tasks that failed together, one with a bug is the agent's, whatever the others met then.
    together = [one for link in links for one in parts_of(link)]
    if any(isinstance(one, _BUGS) for one in together):
        return False
    return any(map(_is_passing, links))


def parts_of(error: BaseException) -> tuple[BaseException, ...]:
    """The errors in a group of errors; on Python 3.10, groups come from a package."""
    parts = getattr(error, "exceptions", None) if "BaseExceptionGroup" in _plain_names(error) else None
    return tuple(one for one in parts or () if isinstance(one, BaseException))


def alone(error: BaseException) -> BaseException:
    """The one error in a group of one, which says more than the group."""
    while len(parts := parts_of(error)) == 1:
        error = parts[0]
    return error


def _plain_names(error: BaseException) -> set[str]:
    return {base.__name__ for base in type(error).__mro__}


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """The error, those in it, and what led to them.

    An error that was only being handled counts unless this is a bug.
    """
    yield from _links(error, set())


def _links(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        # A group comes of a task group, in which the first error has ended the other tasks.
        for one in parts_of(link):
            yield from _links(one, seen)
        implicit = None if link.__suppress_context__ or isinstance(link, _BUGS) else link.__context__
        link = link.__cause__ or implicit


def _is_passing(error: BaseException) -> bool:
    if isinstance(error, _TYPES) or type(error).__qualname__ == "gaierror":
        return True
    if isinstance(error, urllib.error.HTTPError):
        return _is_passing_status(error.code)
    if isinstance(error, urllib.error.URLError):
        return True
    if isinstance(error, OSError) and error.errno in _ERRNOS:
        return True
    return bool(_names(error) & _UNAVAILABLE) or _is_of_sdk(error) or _is_passing_status(_status(error))


def _is_of_sdk(error: BaseException) -> bool:
    kinds = _plain_names(error)
    if kinds & {"McpError", "MCPError"}:
        return getattr(getattr(error, "error", None), "code", None) in _MCP_CODES
    return bool(kinds & _OF_SDKS) or _aws(error, "Error", "Code") in _AWS_CODES


def _aws(error: BaseException, *keys: str) -> Any:
    """What botocore's `ClientError` has in the answer that it keeps as a mapping."""
    found: Any = getattr(error, "response", None)
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, (str, int)) else None


def _names(error: BaseException) -> set[str]:
    """`httpx.ConnectError`, `httpx.NetworkError`, …: the package and the class, for each base."""
    return {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(error).__mro__}


def _status(error: BaseException) -> object:
    response = getattr(error, "response", None)
    candidates = (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "status", None),
        _aws(error, "ResponseMetadata", "HTTPStatusCode"),
        # Elsewhere `code` is something else, such as the status of a process.
        getattr(error, "code", None) if type(error).__module__.startswith("google.") else None,
    )
    return next((status for status in candidates if isinstance(status, int)), None)


def _is_passing_status(status: object) -> bool:
    return isinstance(status, int) and (status in (408, 429) or 500 <= status <= 599)
