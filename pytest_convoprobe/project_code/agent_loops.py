"""The event loops of a session's agents, and one conversation's task on one of them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from ..errors import LoopLost
from ..threads import Interrupted
from .calls import ALONE, outcome
from .clock import current_clock
from .code_place import (
    BLOCKS_LOOP,
    CodePlace,
    frames_of_awaitable,
    frames_of_thread,
    of_frames,
)
from .host_loop import HostLoop
from .isolate import contained
from .last_threads import watched
from .monitor import monitor

T = TypeVar("T")

_GRACE = 2.0


class TaskCall(Generic[T]):
    """A coroutine of the project on its way through a task on another loop."""

    grace = _GRACE

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]], host: HostLoop) -> None:
        self.clock = current_clock()
        self.abandoned = False
        self._make = make
        self._host = host
        self._caller = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._caller.create_future()
        self._task: asyncio.Task[Any] | None = None
        self._coro: Coroutine[Any, Any, T] | None = None
        self._cancelled = False
        self._stops = 0

    async def run(self) -> None:
        """Called once, in the task on the loop of the project's code."""
        self._task = asyncio.current_task()
        try:
            self._coro = self._make()
            result = await contained(self._coro)
        except BaseException as error:
            self._deliver(self._fail, error)
            if isinstance(error, KeyboardInterrupt) and _is_main():
                raise
            if isinstance(error, asyncio.CancelledError) and not self._cancelled:
                raise  # the code cancels itself, or its loop is closed: the task ends in either case
        else:
            self._deliver(self._succeed, result)
        finally:
            self._coro = self._task = None

    def code_place(self) -> CodePlace | None:
        if self._host.blocked:
            mine = self._host.owner() is self.clock
            frames = frames_of_thread(self._host._ident or 0)
            return of_frames(_inside(frames), BLOCKS_LOOP) if mine else None
        return of_frames(frames_of_awaitable(self._coro))

    def stop(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._host.post(self._cancel)
        if self._host.blocked and self._stops % 5 == 0:
            self._host.interrupt(self.clock)
        self._stops += 1

    def is_held_up(self) -> bool:
        if not self._host.blocked or self._host.lost:
            return False
        owner = self._host.owner()
        return owner is not None and owner is not self.clock

    def abandon(self) -> None:
        self.abandoned = True
        self._host.leave(self)
        self._host.disown(self.clock, self._task)
        if self._host.blocked and self._host.owner() is self.clock:
            self._host.give_up(self.clock)

    def lose_loop(self) -> None:
        self._deliver(self._fail, LoopLost())

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _deliver(self, settle: Callable[[Any], None], outcome: object) -> None:
        self._host.leave(self)
        try:
            self._caller.call_soon_threadsafe(settle, outcome)
        except RuntimeError:  # the caller's loop is closed: nobody waits
            return

    def _succeed(self, result: T) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


def _inside(frames: list[Any]) -> list[Any]:
    """The frames above the loop's own."""
    starts = [n for n, (frame, _) in enumerate(frames) if frame.f_code is asyncio.Handle._run.__code__]
    return frames[starts[-1] + 1 :] if starts else frames


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


class CallTask:
    """One task that runs a conversation's coroutines one after another, from the first until `stop`.

    What belongs to the task that opened it (a cancel scope of AnyIO's, context variables) can be used
    and closed by all calls of one conversation.
    """

    def __init__(self, host: HostLoop, on_end: Callable[[], None] = lambda: None) -> None:
        self._host = host
        self._on_end = on_end
        self._queue: asyncio.Queue[TaskCall[Any] | None] | None = None
        self._last: TaskCall[Any] | None = None

    @property
    def unusable(self) -> bool:
        """Whether nothing can be run here any more: a call was abandoned, or the loop is lost."""
        return self._host.lost or (self._last is not None and self._last.abandoned)

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine returns; see `calls.outcome`."""
        if self._host.lost:
            raise LoopLost
        call = TaskCall(make, self._host)
        self._host.enter(call)
        try:
            with watched():
                self._host.post(self._put, call)
                self._last = call
                monitor.watch(self._host)
                return await outcome(call)
        finally:
            self._host.leave(call)

    def stop(self) -> None:
        """End the task after the calls that it has; may be called again."""
        if self._last is not None:
            self._host.post(self._put, None)
        self._on_end()

    def _put(self, call: TaskCall[Any] | None) -> None:
        """On the loop: hand the call to the task, which starts with the first one."""
        if self._queue is None:
            self._queue = asyncio.Queue()
            self._task = asyncio.ensure_future(self._work(self._queue))
        self._queue.put_nowait(call)

    async def _work(self, queue: asyncio.Queue[TaskCall[Any] | None]) -> None:
        try:
            while (call := await queue.get()) is not None:
                with contextlib.suppress(Interrupted):  # it came after the code had ended
                    await call.run()
        finally:
            self._queue = None


class Home(Protocol):
    """Where asynchronous code of the project runs."""

    def open(self) -> CallTask:
        """The task of a new conversation."""


class LoopHome:
    """A home on one loop that somebody else runs: that of an asynchronous test, or the caller's own."""

    def __init__(self, host: HostLoop) -> None:
        self._host = host

    @classmethod
    def here(cls) -> LoopHome:
        """On the loop that runs now."""
        return cls(HostLoop.running())

    def open(self) -> CallTask:
        return CallTask(self._host)


class AgentLoops:
    """The home of a session's agents: one loop for all, as long as none of them blocks it.

    One loop, since clients that conversations share belong to the loop that they were first used on. Once an
    agent has blocked it for good, each further conversation gets a loop of its own: so N conversations
    that block cost the time of two, not of N.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: HostLoop | None = None
        self._distrust = False
        self._own: set[HostLoop] = set()

    def open(self) -> CallTask:
        with self._lock:
            self._distrust = self._distrust or (self._shared is not None and self._shared.lost)
            if ALONE.get() or self._distrust:
                return self._alone()
            if self._shared is None:
                self._shared = HostLoop.start("convoprobe-agents")
            return CallTask(self._shared)

    def close(self, seconds: float = 1.0) -> None:
        """End what still runs. Blocks for so many seconds at most, and leaves behind what does not end."""
        with self._lock:
            hosts = [*self._own, *([self._shared] if self._shared else [])]
            self._own, self._shared = set(), None
        for host in hosts:
            host.close(seconds / max(1, len(hosts)))

    def _alone(self) -> CallTask:
        host = HostLoop.start("convoprobe-agent")
        self._own.add(host)

        def end() -> None:
            with self._lock:
                self._own.discard(host)
            monitor.later(lambda: host.close(1.0))

        return CallTask(host, end)
