"""Which fault is the agent's own, and which that of what it needs: a server, a thread, an event loop."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from ..errors import ConvoprobeError, TargetCrashed, TargetError, TargetStartError, TargetUnavailable
from ..excerpts import TEXT_LIMIT, cut_middle
from ..faults.spoiling import ToolFailed
from ..forbidden_sockets import ALLOW_HOSTS, forbids_sockets
from ..project_code.host_loop import used_several_loops
from ..project_code.tracebacks import describe, short_trace
from .availability import alone, chain_of
from .availability import is_unavailable as is_unavailable

_CLOSED_LOOP = re.compile(r"Event loop is closed")
_DIFFERENT_LOOP = re.compile(
    r"(attached|bound) to a different (event )?loop|belongs to a different (event )?loop"
)
_ANOTHER_LOOP = (
    "the agent used an object of another event loop, such as a client that it keeps in its module ({error}): "
    "each asynchronous test may have its own loop, and a loop that an agent has blocked is replaced. Make "
    "the client inside the agent, the test or the fixture, or use one event loop for the whole session"
)
_FORBIDDEN = (
    f"the agent needs a socket ({{error}}), and {ALLOW_HOSTS}. An event loop of its own needs "
    "`--allow-unix-socket`"
)


@dataclass(frozen=True)
class _Bound:
    """Something that a test gives only to some of its code, such as a thread; by the words of its errors."""

    words: re.Pattern[str]
    cause: str


_SAME = "`target.thread: same` runs the target's code on the test's thread, where the test's own objects work"
_BOUND = (
    _Bound(
        re.compile(
            r"objects? created in a thread can only be used in that same thread"  # SQLite, Django
            r"|[Cc]annot switch to a different thread"  # greenlets: Playwright, gevent
            r"|no current event loop in thread"
            r"|signal only works in main thread|main thread is not in main loop"
            r"|Working outside of (application|request) context"  # Flask
        ),
        "the agent used something that belongs to another thread ({error}): each conversation has a thread "
        f"of its own. Make it inside the agent, or keep to one thread: {_SAME}",
    ),
    _Bound(
        re.compile(
            r"database( table| schema)? is locked|Lock wait timeout exceeded|[Dd]eadlock (found|detected)"
        ),
        "another connection holds the database ({error}): several conversations use it at once, or the test "
        "has an open transaction. Give each conversation a database of its own, or let them run one by one "
        f"(`run.concurrency: 1`); {_SAME}",
    ),
    _Bound(
        re.compile(r"SynchronousOnlyOperation|You cannot call this from an async context"),
        "Django's database was used on an event loop ({error}): use its asynchronous methods or "
        "`sync_to_async`, or make the target a plain function. With a test's transaction, also set "
        f"`target.thread: same`: {_SAME}",
    ),
    _Bound(
        re.compile(r"Database access not allowed, use the .django_db. mark"),
        "the test has no access to Django's database ({error}): give it the mark `django_db`; " + _SAME,
    ),
    _Bound(
        re.compile(r"AST constructor recursion depth mismatch"),
        "Python failed because two threads parsed source code at the same time ({error}), which some of its "
        "versions do: run it again",
    ),
)


def failure(error: BaseException) -> TargetError:
    """What an exception out of the agent's code means for the run; it carries the short trace."""
    error = alone(error)
    trace = short_trace(error)
    for kind in (TargetUnavailable, TargetStartError, TargetCrashed):
        if isinstance(error, kind):
            return kind(_text_of(error), trace=error.trace or trace)
    if (injected := next((one for one in chain_of(error) if isinstance(one, ToolFailed)), None)) is not None:
        # A timeout of this kind is no fault of a service: whether the agent copes with it is what is tested.
        return TargetCrashed(
            f"the target raised {describe(error)}, after a fault (`faults`) that a tool had: {injected}",
            trace=trace,
        )
    if (wiring := of_the_wiring(error)) is not None:
        return wiring
    if isinstance(error, Exception) and is_unavailable(error):
        return TargetUnavailable(
            f"a service that the target needs did not answer: {describe(error)}", trace=trace
        )
    return TargetCrashed(f"the target raised {describe(error)}", trace=trace)


def unusable(error: ValueError) -> TargetStartError:
    """An answer in a form that isn't read: the wiring is wrong, so the agent is not to blame."""
    return TargetStartError(f"the target's answer can't be used: {error}")


def of_the_wiring(error: BaseException) -> TargetUnavailable | None:
    """What it means that something of the agent's belongs to another thread, event loop or transaction.

    A test runs the agent in other threads and on other loops than its program does: the agent isn't to blame.
    As long as all code of the project has run on one loop, a wrong loop is a mistake of the agent's: None.
    There are several once each asynchronous test has its own, or a blocked one was replaced. A different loop
    than the one that runs here is a fixture's.
    """
    said = [f"{type(link).__qualname__}: {_text_of(link)}" for link in chain_of(error)]
    cause = _cause(said)
    if cause is None:
        return None
    return TargetUnavailable(cause.format(error=describe(error)), trace=short_trace(error))


def _cause(said: list[str]) -> str | None:
    different, closed = (any(map(words.search, said)) for words in (_DIFFERENT_LOOP, _CLOSED_LOOP))
    several = used_several_loops()
    if (closed and several) or (different and (several or _on_loop())):
        return _ANOTHER_LOOP
    if any(map(forbids_sockets, said)):
        return _FORBIDDEN
    return next((one.cause for one in _BOUND if any(map(one.words.search, said))), None)


def _on_loop() -> bool:
    """Whether the agent's code runs on a loop that it was given. In a thread, it makes its loops itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _text_of(error: BaseException) -> str:
    try:
        return cut_middle(str(error), TEXT_LIMIT)
    except Exception:  # noqa: BLE001 - a broken __str__ is no reason to lose the error
        return ""


def start_failure(doing: str, error: BaseException) -> TargetStartError:
    """An exception before the first message; `doing` says what failed ("can't import `agent`")."""
    if isinstance(error, ConvoprobeError):
        trace = error.trace if isinstance(error, TargetError) else ""
        return TargetStartError(f"{doing}: {_text_of(error)}", trace=trace)
    reason = of_the_wiring(error) or describe(error)
    return TargetStartError(f"{doing}: {reason}", trace=short_trace(error))


def outage_inside(error: BaseException) -> TargetUnavailable:
    """For an agent inside of a tool whose model is away: the others only read that the tool failed."""
    words = f"the model of an agent inside of a tool did not answer: {describe(error)}"
    return of_the_wiring(error) or TargetUnavailable(words, trace=short_trace(error))
