"""A time limit for one step of a conversation."""

from __future__ import annotations

import asyncio
import sys
import time
from types import TracebackType

from .clock import CURRENT, Clock, InFlight
from .code_place import IGNORES_CANCELLATION, CodePlace

_AGAIN = 0.05  # seconds until a timer looks again whether a stopped clock runs again


class Deadline:
    """`async with Deadline(seconds, error):` raises `error` when the body takes longer.

    The outermost deadline makes the conversation's `Clock`; those inside go by the same one, unless they say
    `real_time`. An error that can say where the project's code was (a method `located`) does so.

    The body runs in the task that entered it. `asyncio.wait_for` moves it to a task of its
    own on Python 3.10 and 3.11, and context variables are then lost. `error` is raised however the body
    ended after the time was up; only a cancellation from outside goes before it.
    """

    def __init__(self, seconds: float, error: Exception, *, real_time: bool = False) -> None:
        self._seconds = seconds
        self._error = error
        self._real_time = real_time
        self._expired = False
        self._found: list[tuple[InFlight, CodePlace]] = []

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine always runs in a task
        self._task = task
        self._requests = _cancel_requests(task)
        outer = CURRENT.get()
        self._clock = Clock() if outer is None or outer.over else outer
        self._outermost = self._clock is not outer
        self._token = CURRENT.set(self._clock)
        self._due = self._now() + self._seconds
        if not self._real_time:
            self._clock.limits.append(self._due)
        self._arm(self._seconds)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        CURRENT.reset(self._token)
        if not self._real_time:
            self._clock.limits.remove(self._due)
        self._clock.over = self._clock.over or self._outermost
        if not self._expired:
            return
        _take_back(self._task)
        if _cancel_requests(self._task) <= self._requests:
            self._locate()
            raise self._error from None

    def _now(self) -> float:
        return time.monotonic() if self._real_time else self._clock.now()

    def _arm(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """The timer has run down; the clock may have been stopped meanwhile."""
        left = self._due - self._now()
        if left > 0 or (self._clock.stopped and not self._real_time):
            return self._arm(max(left, _AGAIN))
        self._expired = True
        places = ((call, call.code_place()) for call in self._clock.calls)
        # Now, since the code will be somewhere else once it has been cancelled.
        self._found = [(call, at) for call, at in places if at is not None]
        self._task.cancel()

    def _locate(self) -> None:
        """Let the error say where the code was: rather code that could not be stopped than any other."""
        located = getattr(self._error, "located", None)
        if located is None or not self._found:
            return
        call, at = max(self._found, key=lambda found: found[0].abandoned)
        located(at.place, at.trace, at.advice or IGNORES_CANCELLATION * call.abandoned)


def _cancel_requests(task: asyncio.Task[object]) -> int:
    """How often the task was asked to stop and has not taken it back; Python 3.10 doesn't count."""
    if sys.version_info >= (3, 11):
        return task.cancelling()
    return 0


def _take_back(task: asyncio.Task[object]) -> None:
    if sys.version_info >= (3, 11):
        task.uncancel()
