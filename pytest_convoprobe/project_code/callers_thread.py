"""Calls of the project's code on the thread that waits for the conversation: pytest's own.

What a test has set up may belong to its thread: a transaction of Django's, a connection of SQLite's. The
conversation runs on a loop in another thread and queues its calls here; whoever waits for the conversation
makes them meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ..threads import Call, Interrupted
from .on_this_thread import ThreadTimer

T = TypeVar("T")

_SLICE = 0.02  # seconds until the end of a conversation is noticed


class Waitable(Protocol):
    """A conversation that runs elsewhere."""

    def wait(self, timeout: float | None = None) -> bool: ...


class _Here(Call[T]):
    """A call for the waiting thread."""

    def __init__(self, function: Callable[[], T]) -> None:
        super().__init__(function)
        self._timer: ThreadTimer | None = None
        self._unwanted = False

    def make(self) -> None:
        """Run it, on the thread that waits. What is meant for that thread, such as Ctrl-C, is raised too."""
        if self._unwanted:
            return  # its time limit came before its turn
        self._timer = ThreadTimer()
        with contextlib.suppress(Interrupted), self._timer.interrupting():
            if not self._unwanted:
                self.run()
        if self.error is not None and _is_for_thread(self.error):
            raise self.error

    def interrupt(self) -> None:
        self._unwanted = True
        if self._timer is not None:
            self._timer.interrupt()


def _is_for_thread(error: BaseException) -> bool:
    """Whether it was raised by a signal, as Ctrl-C and the limits of pytest's plug-ins are."""
    own = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError, Interrupted)
    return not isinstance(error, own)


class CallersThread:
    """The calls that wait for the thread that waits."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[_Here[Any]] = queue.SimpleQueue()
        self._used = False

    def worker(self) -> OnWaitingThread:
        """The way to this thread for one conversation."""
        self._used = True
        return OnWaitingThread(self._calls.put)

    def wait(self, conversation: Waitable, seconds: float) -> bool:
        """Make calls until the conversation has ended, at most so many seconds; says whether it has."""
        until = time.monotonic() + seconds
        while self._used and (left := until - time.monotonic()) > 0:
            self.make_waiting(min(_SLICE, left))
            if conversation.wait(0):
                return True
        return conversation.wait(max(0.0, until - time.monotonic()))

    def make_waiting(self, seconds: float = 0.0) -> None:
        """Make the next call; wait so long for one."""
        with contextlib.suppress(queue.Empty):
            self._calls.get(timeout=seconds).make() if seconds else self._calls.get_nowait().make()


class OnWaitingThread:
    """As `threads.CallThread`, but its calls run on the thread that waits for the conversation."""

    def __init__(self, put: Callable[[_Here[Any]], None]) -> None:
        self._put = put
        self._last: _Here[Any] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is still waiting or running, also one that nobody waits for any more."""
        return self._last is not None and not self._last.finished

    def start(self, function: Callable[[], T]) -> Call[T]:
        """Have the function run there, after all that were given before."""
        call = _Here(function)
        self._last = call
        self._put(call)
        return call

    def stop(self) -> None:
        """Nothing is to be ended: the thread is somebody else's."""
