"""Which fault is the agent's own, and which lies in what it stands on."""

from __future__ import annotations

import asyncio
import errno
import re
import ssl
import urllib.error
from collections.abc import Iterator

from ..errors import ConvoprobeError, TargetCrashed, TargetError, TargetStartError, TargetUnavailable
from ..project_code.host_loop import used_several_loops
from ..project_code.tracebacks import describe, short_trace

# By name, so that nothing needs to be installed or imported to tell them.
_UNAVAILABLE = frozenset(
    {
        "aiohttp.ClientConnectionError",
        "anthropic.APIConnectionError",
        "botocore.ConnectTimeoutError",
        "botocore.EndpointConnectionError",
        "botocore.ReadTimeoutError",
        "httpx.NetworkError",
        "httpx.ProxyError",
        "httpx.RemoteProtocolError",
        "httpx.TimeoutException",
        "openai.APIConnectionError",
        "redis.ConnectionError",
        "redis.TimeoutError",
        "requests.ConnectionError",
        "requests.Timeout",
        "urllib3.HTTPError",
        "websockets.ConnectionClosed",
    }
)
_TYPES = (ConnectionError, TimeoutError, asyncio.TimeoutError, ssl.SSLError, TargetUnavailable)
_ERRNOS = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.ETIMEDOUT})

_OTHER_LOOP = re.compile(
    r"Event loop is closed|(attached|bound) to a different (event )?loop|belongs to a different (event )?loop"
)
_ANOTHER_LOOP = (
    "the agent used an object of another event loop, such as a client that it keeps in its module ({error}): "
    "each asynchronous test may have its own loop, and a loop that an agent has blocked is replaced. Make "
    "the client inside the agent, the test or the fixture, or use one event loop for the whole session"
)

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


def failure(error: BaseException) -> TargetError:
    """What an exception out of the agent's code means for the run; it carries the short trace."""
    trace = short_trace(error)
    for kind in (TargetUnavailable, TargetStartError, TargetCrashed):
        if isinstance(error, kind):
            return kind(str(error), trace=error.trace or trace)
    if (other_loop := of_another_loop(error)) is not None:
        return other_loop
    if isinstance(error, Exception) and is_unavailable(error):
        return TargetUnavailable(
            f"a service that the target needs did not answer: {describe(error)}", trace=trace
        )
    return TargetCrashed(f"the target raised {describe(error)}", trace=trace)


def unusable(error: ValueError) -> TargetStartError:
    """An answer in a form that isn't read: the wiring is wrong, so the agent is not to blame."""
    return TargetStartError(f"the target's answer can't be used: {error}")


def of_another_loop(error: BaseException) -> TargetUnavailable | None:
    """What it means that a client belongs to an event loop that has ended, or isn't the one in use.

    As long as all code of the project has run on one loop, that is a mistake of the agent's: None. With
    several loops (each asynchronous test has one, and a blocked one is replaced) the agent isn't to blame.
    """
    if not used_several_loops() or not any(_OTHER_LOOP.search(str(link)) for link in _chain(error)):
        return None
    return TargetUnavailable(_ANOTHER_LOOP.format(error=describe(error)), trace=short_trace(error))


def start_failure(doing: str, error: BaseException) -> TargetStartError:
    """An exception before the first message; `doing` says what failed ("can't import `agent`")."""
    if isinstance(error, ConvoprobeError):
        trace = error.trace if isinstance(error, TargetError) else ""
        return TargetStartError(f"{doing}: {error}", trace=trace)
    return TargetStartError(f"{doing}: {describe(error)}", trace=short_trace(error))


def is_unavailable(error: BaseException) -> bool:
    """Whether it, or what it was raised from, is a fault of the network, a server or a provider."""
    return any(_is_passing(link) for link in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it; an error that was only being handled counts unless this is a bug."""
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
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
    return bool(_names(error) & _UNAVAILABLE) or _is_passing_status(_status(error))


def _names(error: BaseException) -> set[str]:
    """`httpx.ConnectError`, `httpx.NetworkError`, …: the package and the class, for each base."""
    return {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(error).__mro__}


def _status(error: BaseException) -> object:
    response = getattr(error, "response", None)
    candidates = (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "status", None),
    )
    return next((status for status in candidates if isinstance(status, int)), None)


def _is_passing_status(status: object) -> bool:
    return isinstance(status, int) and (status in (408, 429) or 500 <= status <= 599)
