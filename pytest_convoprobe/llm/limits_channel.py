"""Shared limits over a channel between two processes: the host's half, and a member's.

A channel is one of execnet's, by which xdist talks with its workers: private to the two processes, on other
machines too, and closed when either of them ends. So nothing listens anywhere, and it works where a suite
forbids sockets. A member sends `[number, name, terms, report]` as JSON and gets `[number, grant]`. The grant
is null if the host can't read the message.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import count
from typing import Any, Protocol

from pydantic import TypeAdapter

from ..formatting import exact_seconds
from ..threads import CallThread
from .budget import Spent
from .shared_limits import Grant, Report, SharedLimits

ANSWER_SECONDS = 10.0
"""How long a member waits for an answer. The host gives it at once, if it runs at all."""


@dataclass(frozen=True)
class RunLimits:
    """The limits of a run by its settings: calls at once to a provider, conversations at once, the budget."""

    ceiling: int
    conversations: int = 1
    max_cost: float | None = None
    max_tokens: int | None = None

    def opened(self) -> SharedLimits:
        """Limits that nobody has used yet."""
        return SharedLimits(
            self.ceiling,
            conversations=self.conversations,
            max_cost=self.max_cost,
            max_tokens=self.max_tokens,
        )

    def divided(self, workers: int) -> SharedLimits:
        """The part of one of several processes that don't hear of each other. Its budget divides itself."""
        return RunLimits(max(1, self.ceiling // workers), max(1, self.conversations // workers)).opened()


class LimitsHost:
    """The limits of a run, each under a name: the first report on a name opens its limits.

    `members` are those that are there. All may be called from any thread.
    """

    def __init__(self, members: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._limits: dict[str, SharedLimits] = {}
        self._members = set(members)

    def expect(self, member: str) -> None:
        """One more member is there."""
        with self._lock:
            self._members.add(member)
            for limits in self._limits.values():
                limits.expect(member)

    def answer(self, member: str, message: Any) -> str:
        """The answer to a message of a member."""
        number = None
        try:
            number, name, terms, report = json.loads(message)
            asked = _reader(Report).validate_python(report)
            grant = self._report(member, str(name), _reader(RunLimits).validate_python(terms), asked)
        except (TypeError, ValueError, RecursionError):
            return json.dumps([number, None])
        return json.dumps([number, asdict(grant)])

    def forget(self, member: str) -> None:
        """A member is gone: its places are free. What it has spent stays spent."""
        with self._lock:
            self._members.discard(member)
            for limits in self._limits.values():
                limits.forget(member)

    def correct(self, member: str, name: str, spent: Spent) -> None:
        """What a member that is gone has spent, which may have ended before it could report that."""
        with self._lock:
            if name in self._limits:
                self._limits[name].forget(member, spent)

    def _report(self, member: str, name: str, terms: RunLimits, report: Report) -> Grant:
        with self._lock:
            if name not in self._limits:
                self._limits[name] = terms.opened()
                for one in self._members:
                    self._limits[name].expect(one)
            return self._limits[name].report(member, report)


class Channel(Protocol):
    """What is used of a channel of execnet."""

    def send(self, item: object) -> None: ...

    def setcallback(self, callback: Callable[[Any], Any], endmarker: object = ...) -> None: ...


class HostLine:
    """A member's way to its host. Reports on several names may be under way at once."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = count()
        self._asked: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = {}
        self._ended = False
        # A host that doesn't read must not block the event loop.
        self._sender = CallThread()
        channel.setcallback(self._receive, endmarker=None)

    async def report(self, name: str, terms: RunLimits, report: Report) -> Grant:
        """What the limits of that name answer. Raises `ConnectionError`."""
        loop, number = asyncio.get_running_loop(), next(self._numbers)
        answered: asyncio.Future[Any] = loop.create_future()
        self._asked[number] = loop, answered
        message = json.dumps([number, name, asdict(terms), asdict(report)])
        try:
            if self._ended:
                raise ConnectionError(_ENDED)
            await _in_time(self._sender.run(partial(self._channel.send, message)))
            grant: Grant = _reader(Grant).validate_python(await _in_time(answered))
        except (OSError, ValueError) as error:
            raise ConnectionError(str(error)) from error
        finally:
            del self._asked[number]
        return grant

    def _receive(self, message: Any) -> None:
        """Called on a thread of execnet's; None at the end of the channel."""
        if message is None:
            self._ended = True
            for loop, future in list(self._asked.values()):
                _settle(loop, future, ConnectionError(_ENDED))
            return
        number, grant = json.loads(message)
        # Whoever has asked may give up at this moment, on another thread.
        if (asked := self._asked.get(number)) is not None:
            _settle(*asked, grant)


_ENDED = "the process that keeps the limits has ended"


async def _in_time(future: asyncio.Future[Any]) -> Any:
    # Twice: when both processes were stopped for a while (Ctrl-Z), the first time limit is over at once.
    for _ in range(2):
        await asyncio.wait({future}, timeout=ANSWER_SECONDS / 2)
        if future.done():
            return future.result()
    raise ConnectionError(f"no answer within {exact_seconds(ANSWER_SECONDS)}")


def _settle(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], outcome: Any) -> None:
    def settle() -> None:
        if future.done():
            return
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    # Whoever has asked may be gone, and its loop closed.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(settle)


class HostedExchange:
    """An `Exchange` with the host's limits of a name.

    When the host can't be reached, it goes on with a part of the limits, one of `workers`. Then `on_lost` is
    called once, with the reason. Without a `line` that is so from the beginning.
    """

    def __init__(
        self,
        line: HostLine | None,
        name: str,
        terms: RunLimits,
        workers: int,
        on_lost: Callable[[str], object],
    ) -> None:
        self._line = line
        self._name = name
        self._terms = terms
        self._workers = workers
        self._on_lost = on_lost
        self._own: SharedLimits | None = None

    async def __call__(self, report: Report) -> Grant:
        if self._own is None:
            try:
                return await self._ask(report)
            except ConnectionError as error:
                self._own = self._terms.divided(self._workers)
                self._on_lost(str(error))
        return self._own.report("", report)

    async def _ask(self, report: Report) -> Grant:
        if self._line is None:
            raise ConnectionError("it was not started by this version of pytest-convoprobe")
        return await self._line.report(self._name, self._terms, report)


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
