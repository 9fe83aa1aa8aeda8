"""A time limit for one step of a conversation."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType


class Deadline:
    """`async with Deadline(seconds, error):` raises `error` when the body takes longer.

    The body runs in the task that entered it. `asyncio.wait_for` moves it to a task of its
    own on Python 3.10 and 3.11, and then a connection that an agent opened in one turn cannot be
    closed after the last (AnyIO's cancel scopes belong to a task), and its context variables
    are lost between turns. `error` is raised however the body ended after the time was up; only a
    cancellation from outside goes before it.
    """

    def __init__(self, seconds: float, error: Exception) -> None:
        self._seconds = seconds
        self._error = error
        self._expired = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine always runs in a task
        self._task = task
        self._requests = _cancel_requests(task)
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if not self._expired:
            return
        _take_back(self._task)
        if _cancel_requests(self._task) <= self._requests:
            raise self._error from None

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()


def _cancel_requests(task: asyncio.Task[object]) -> int:
    """How often the task was asked to stop and has not taken it back; Python 3.10 doesn't count."""
    if sys.version_info >= (3, 11):
        return task.cancelling()
    return 0


def _take_back(task: asyncio.Task[object]) -> None:
    if sys.version_info >= (3, 11):
        task.uncancel()
