"""Waiting for code of the project, which may never end.

A call runs somewhere else (a thread, another event loop). Whoever waits for it can be cancelled at any time,
by a `Deadline` for one. The code is then cancelled and interrupted too; if it continues all the same, it
is abandoned after a short grace, and nothing waits for it ever again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Generic, Protocol, TypeVar

from ..errors import LoopLost
from ..threads import Call, Interrupted, start_call
from .clock import current_clock
from .code_place import BLOCKS_THREAD, CodePlace, frames_of_thread, of_frames
from .last_threads import watched
from .pulse import pulse

T = TypeVar("T")

_SLICE = 0.1
_GRACE_OF_THREADS = 0.5
_GRACE_OF_OURS = 8.0
"""Long enough for the project's code to be stopped and closed below it."""

ALONE: ContextVar[bool] = ContextVar("convoprobe_alone", default=False)
"""Whether the conversation is to have event loops of its own, as it has lost one to another conversation."""


class Raised(Exception):
    """The project's code raised `error`, and not this package."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__(str(error))


class Running(Protocol[T]):
    """A call of the project's code."""

    future: asyncio.Future[T]
    abandoned: bool
    grace: float

    def code_place(self) -> CodePlace | None:
        """Where its code is now."""

    def stop(self) -> None:
        """Have it cancelled or interrupted; may be called again."""

    def is_held_up(self) -> bool:
        """Whether it can't even begin to stop, since other code keeps its event loop."""

    def abandon(self) -> None:
        """Nobody waits for it any more."""


class ThreadCall(Generic[T]):
    """A call that runs in a thread. One that is `shared` is never stopped: others wait for it too."""

    def __init__(self, call: Call[T], *, shared: bool = False) -> None:
        self.future = call.future
        self.grace = 0.0 if shared else _GRACE_OF_THREADS
        self.abandoned = False
        self._call = call
        self._interrupted = False

    def code_place(self) -> CodePlace | None:
        thread = self._call.thread
        return None if thread is None else of_frames(frames_of_thread(thread), BLOCKS_THREAD)

    def stop(self) -> None:
        if not self._interrupted:
            self._interrupted = True
            self._call.interrupt()

    def is_held_up(self) -> bool:
        return False

    def abandon(self) -> None:
        self.abandoned = True


class TaskHere(Generic[T]):
    """A coroutine of ours in a task on this loop, for what a library below it may refuse to end."""

    def __init__(self, coro: Coroutine[Any, Any, T]) -> None:
        self.future: asyncio.Future[T] = asyncio.ensure_future(_with_exits_kept(coro))
        self.grace = _GRACE_OF_OURS
        self.abandoned = False
        self._stopped = False

    def code_place(self) -> None:
        """Nowhere: it isn't the project's code."""

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self.future.cancel()

    def is_held_up(self) -> bool:
        return False

    def abandon(self) -> None:
        self.abandoned = True
        self.future.add_done_callback(_look_at)


async def _with_exits_kept(coro: Coroutine[Any, Any, T]) -> T:
    """A task that raises one of these would end the event loop, with all that runs on it."""
    try:
        return await coro
    except (SystemExit, KeyboardInterrupt) as error:
        raise Raised(error) from None


def _look_at(task: asyncio.Future[Any]) -> None:
    """Looking at it keeps asyncio from logging that nobody did."""
    if not task.cancelled():
        task.exception()


async def outcome(call: Running[T]) -> T:
    """What the call returns. Raises `Raised` with what its code raises, and `LoopLost`."""
    clock = current_clock()
    clock.calls[call] = None
    try:
        with watched(), pulse.around(clock):
            await asyncio.wait((call.future,))
    except asyncio.CancelledError:
        with clock.stop():
            await _end(call)
        raise
    finally:
        clock.calls.pop(call, None)
    error = call.future.exception()
    if isinstance(error, Interrupted):  # meant for code that had ended by then
        raise LoopLost
    if isinstance(error, (LoopLost, Raised)):
        raise error
    if error is not None:
        raise Raised(error)
    return call.future.result()


async def _end(call: Running[Any]) -> None:
    """Stop the call, or leave it alone after its grace."""
    left = call.grace
    while not call.future.done() and left > 0:
        call.stop()
        begun = time.monotonic()
        try:
            await asyncio.wait((call.future,), timeout=min(_SLICE, left))
        except asyncio.CancelledError:
            continue  # whoever cancels us again gets the same end, soon
        finally:
            left -= 0 if call.is_held_up() else time.monotonic() - begun
    if call.future.done():
        _look_at(call.future)
    else:
        call.abandon()


async def in_own_thread(function: Callable[[], T]) -> T:
    """What the function returns; see `outcome`."""
    with watched():  # before it starts: the function may start its own threads at once
        return await outcome(ThreadCall(start_call(function)))


class StartsCalls(Protocol):
    """A thread that runs the calls of one conversation."""

    @property
    def busy(self) -> bool: ...

    def start(self, function: Callable[[], T]) -> Call[T]: ...

    def stop(self) -> None: ...


async def in_thread_of(thread: StartsCalls, function: Callable[[], T]) -> T:
    """The same in the thread of a conversation."""
    with watched():
        return await outcome(ThreadCall(thread.start(function)))


async def stoppable(coro: Coroutine[Any, Any, T]) -> T:
    """What the coroutine of ours gives or raises. Cancelling never waits for long, whatever it calls."""
    try:
        return await outcome(TaskHere(_without_leaving(coro)))
    except Raised as raised:
        error = raised.error
        raise (error.error if isinstance(error, Raised) else error) from None


async def _without_leaving(coro: Coroutine[Any, Any, T]) -> T:
    """As the coroutine, but these two are wrapped: a task that raises them ends its whole event loop."""
    try:
        return await coro
    except (KeyboardInterrupt, SystemExit) as error:
        raise Raised(error) from None


async def undisturbed(attempt: Callable[[], Awaitable[T]]) -> T:
    """What the attempt gives; if it loses its event loop to another conversation, that of a second one."""
    try:
        return await attempt()
    except LoopLost:
        token = ALONE.set(True)
    try:
        return await attempt()
    finally:
        ALONE.reset(token)
