"""Many conversations at once: a bounded pool on top of an event loop.

All jobs of a pool run on one `LoopThread`, so that the clients and limiters of models are never shared
between loops. They start in order and at most so many at once. Everything public here may be called
from any thread except the loop's own, where noted.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from ..errors import ConvoprobeError
from ..formatting import exact_seconds
from ..loop_thread import LoopThread, wait_for

T = TypeVar("T")


class CancelledFromWithin(ConvoprobeError):
    """A job was cancelled, though nobody outside of it asked for that."""

    def __init__(self) -> None:
        super().__init__(
            "the conversation was cancelled from within: the agent, a tool, or a library of theirs cancels "
            "the asyncio task that it runs in"
        )


@dataclass(frozen=True)
class Stats:
    """How far a pool is. `done` counts what ran and ended, well or not; what never ran isn't in it."""

    done: int = 0
    running: int = 0
    waiting: int = 0


class Handle(Generic[T]):
    """One job of a pool, for the one who waits for it."""

    def __init__(self, key: Hashable, factory: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.key = key
        self._factory = factory
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._settling = threading.Lock()
        self._task: asyncio.Task[T] | None = None
        self._begun: float | None = None
        self._ended: float | None = None
        self._unwanted = False

    @property
    def done(self) -> bool:
        """Whether it has ended: with a result, an exception, or cancelled."""
        return self._future.done()

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled, or given up because it would not end."""
        return self._future.cancelled()

    @property
    def duration(self) -> float:
        """Seconds that the job itself ran (so far), the wait in the queue not counted; 0 before it starts."""
        if self._begun is None:
            return 0.0
        return (self._ended or time.monotonic()) - self._begun

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end at most so many seconds; says whether it has come."""
        return wait_for(self._future, timeout)

    def result(self, timeout: float | None = None) -> T:
        """What the job returned; raises what it raised.

        Raises `concurrent.futures.CancelledError` if it was cancelled, `CancelledFromWithin` if
        it did so itself, TimeoutError if it has not ended after `timeout` seconds.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"{self.key!r} has not ended after {exact_seconds(timeout)}")
        return self._future.result()

    async def _run(self) -> T:
        self._begun = time.monotonic()
        return await self._factory()

    def _settle(self, task: asyncio.Task[T]) -> None:
        """Take over what the task came to; nothing changes if the job was given up before."""
        self._ended = time.monotonic()
        if task.cancelled() and self._unwanted:
            return self._give_up()
        error = CancelledFromWithin() if task.cancelled() else task.exception()
        with self._settling:
            if self._future.done():
                return
            if error is None:
                self._future.set_result(task.result())
            else:
                self._future.set_exception(error)

    def _give_up(self) -> None:
        with self._settling:
            if not self._future.done() and self._future.cancel():
                # `concurrent.futures.wait` takes a cancelled future for done only after this.
                self._future.set_running_or_notify_cancel()


class Room(Protocol):
    """How many jobs may run at once, where that changes. Used on the loop of the pool."""

    size: int
    changed: Callable[[], object]

    def note(self, active: int, waiting: int) -> None: ...


class _FixedPlaces:
    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a pool needs room for at least one job; got limit={size}")
        self.size = size
        self.changed: Callable[[], object] = bool

    def note(self, active: int, waiting: int) -> None:
        """Nobody wants to know."""


class Pool:
    """Runs jobs on a `LoopThread`: started in the order of submission, at most `limit` at once.

    The limit is a number, or `Room` that it shares with the pools of other processes. A job is known by its
    key while it waits or runs; a key may be used again afterwards.
    """

    def __init__(self, loop_thread: LoopThread, limit: int | Room) -> None:
        self._places: Room = _FixedPlaces(limit) if isinstance(limit, int) else limit
        self._places.changed = self._fill
        self._loop_thread = loop_thread
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Hashable, Handle[Any]] = OrderedDict()
        self._running: dict[Hashable, Handle[Any]] = {}
        self._done = 0
        loop_thread.before_close(self.cancel_all)

    @property
    def stats(self) -> Stats:
        """The counts of this moment."""
        with self._lock:
            return Stats(self._done, len(self._running), len(self._waiting))

    def submit(self, key: Hashable, factory: Callable[[], Coroutine[Any, Any, T]]) -> Handle[T]:
        """Queue a job. `factory` makes its coroutine, on the loop, when its time has come.

        Raises ValueError while a job of that key waits or runs, RuntimeError when the loop is closed.
        """
        handle = Handle(key, factory)
        with self._lock:
            if key in self._waiting or key in self._running:
                raise ValueError(f"a job named {key!r} is in the pool already")
            if self._loop_thread.closed:
                raise RuntimeError(f"{key!r} cannot be started: the pool's event loop is closed")
            # Before the job is queued, so that none is left there if this raises. `_fill` waits for the lock.
            self._loop_thread.call(self._fill)
            self._waiting[key] = handle
        return handle

    def promote(self, key: Hashable) -> bool:
        """Let a waiting job start next, as somebody waits for it; says whether it was waiting."""
        with self._lock:
            if key not in self._waiting:
                return False
            self._waiting.move_to_end(key, last=False)
            return True

    def cancel(self, key: Hashable) -> bool:
        """Cancel one job without waiting for its end; says whether there was one to cancel."""
        with self._lock:
            handle = self._waiting.pop(key, None) or self._running.get(key)
            self._cancel([handle] if handle else [])
        return handle is not None

    def cancel_all(self, timeout: float = 5.0) -> bool:
        """Cancel every job and wait at most so many seconds until the running ones have cleaned up.

        Returns False if some are still at it; their handles count as cancelled nevertheless, so
        that nobody waits for them.
        """
        with self._lock:
            waiting, running = list(self._waiting.values()), list(self._running.values())
            self._waiting.clear()
            self._cancel(waiting + running)
        concurrent.futures.wait([handle._future for handle in running], timeout)
        late = [handle for handle in running if not handle.done]
        for handle in late:
            handle._give_up()
        return not late

    def _cancel(self, handles: Sequence[Handle[Any]]) -> None:
        """Cancel jobs that were taken out of the queue, and jobs that run; the caller has the lock."""
        if handles:
            # Other processes may use the places that nobody here waits for any more.
            self._loop_thread.call(self._fill)
        for handle in handles:
            handle._unwanted = True
            if handle.key in self._running:
                self._loop_thread.call(_cancel_task, handle)
            else:
                handle._give_up()

    def _fill(self) -> None:
        """Start what there is room for. Runs on the loop only."""
        while (handle := self._next()) is not None:
            handle._task = asyncio.get_running_loop().create_task(handle._run())
            handle._task.add_done_callback(partial(self._finished, handle))
        self._places.note(len(self._running), len(self._waiting))

    def _next(self) -> Handle[Any] | None:
        with self._lock:
            if not self._waiting or len(self._running) >= self._places.size:
                return None
            key, handle = self._waiting.popitem(last=False)
            self._running[key] = handle
            return handle

    def _finished(self, handle: Handle[Any], task: asyncio.Task[Any]) -> None:
        with self._lock:
            del self._running[handle.key]
            self._done += 1
        handle._settle(task)
        self._fill()


def _cancel_task(handle: Handle[Any]) -> None:
    """To be called on the loop: asyncio's tasks may be touched on no other thread."""
    if handle._task is not None:
        handle._task.cancel()
