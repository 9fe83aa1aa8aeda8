"""Synchronous code of others, run in daemon threads that nobody has to wait for.

`ThreadPoolExecutor` joins its threads when the interpreter ends, and a call that hangs takes one of
its few threads away from everybody else. Here a hanging call delays only whoever waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_NAME = "convoprobe-target"


class Interrupted(BaseException):
    """Raised inside code that has used up its time, from another thread.

    Not an `Exception`: code that catches those to try again must not survive it.
    """


class Call(Generic[T]):
    """A function that runs in a thread; its outcome goes to a future of the caller's loop.

    The context variables are those of the caller. What means something to asyncio itself becomes a
    `RuntimeError`: a future can't have a `StopIteration`, and the others would end the caller's task.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        # A thread begins with an empty context: logging and tracing of the agent would lose their way.
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self.future: asyncio.Future[T] = self._loop.create_future()
        self.thread: int | None = None
        """The identifier of the thread, while the function runs there."""
        self.finished = False
        self.error: BaseException | None = None
        """What the function has raised."""

    def run(self) -> None:
        """Called once, in the thread."""
        self.thread = threading.get_ident()
        try:
            result = self._context.run(self._function)
        except (StopIteration, GeneratorExit, asyncio.CancelledError) as signal:
            error = RuntimeError(f"the function raised {type(signal).__name__}")
            error.__cause__ = signal
            self._deliver(self._fail, error)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the caller
            self.error = error
            self._deliver(self._fail, error)
        else:
            self._deliver(self._succeed, result)

    def interrupt(self) -> None:
        """Raise `Interrupted` in the function. Best effort: a call into C has to return first."""
        with self._lock:
            if self.thread is not None:
                interrupt_thread(self.thread)

    def _deliver(self, settle: Callable[[Any], None], outcome: object) -> None:
        with self._lock:
            self.thread = None
        self.finished = True
        # A call that was abandoned may end after its loop was closed; nobody waits for it then.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(settle, outcome)

    def _succeed(self, result: T) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


def start_call(function: Callable[[], T]) -> Call[T]:
    """Start the function in a daemon thread of its own."""
    call = Call(function)
    start_thread(call.run, _NAME)
    return call


async def aside(large: bool, function: Callable[[], T]) -> T:
    """What the function of ours returns. A large piece of work has a thread: others talk on this loop.

    It goes on to its end if whoever waits for it is cancelled.
    """
    return await start_call(function).future if large else function()


class CallThread:
    """One daemon thread that runs calls one after another, from the first call until `stop`.

    What must stay in the thread that made it (an SQLite connection, a thread-local) can be used
    by all calls of one worker.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Call[Any] | None] = queue.SimpleQueue()
        self._last: Call[Any] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is still running, also one that nobody waits for any more."""
        return self._last is not None and not self._last.finished

    def start(self, function: Callable[[], T]) -> Call[T]:
        """Run the function after all that were given before."""
        call = Call(function)
        if self._last is None:
            start_thread(self._work, _NAME)
        self._last = call
        self._calls.put(call)
        return call

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """The same, for a caller who wants nothing but the result."""
        return self.start(function).future

    def stop(self) -> None:
        """End the thread after the calls that it has; may be called again."""
        if self._last is not None:
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()


def start_thread(function: Callable[[], None], name: str) -> None:
    """Start a daemon thread that ends quietly when it is interrupted."""
    threading.Thread(target=_quietly, args=(function,), name=name, daemon=True).start()


def _quietly(function: Callable[[], None]) -> None:
    # The interruption may arrive when the function that it was meant for has just ended.
    with contextlib.suppress(Interrupted):
        function()


def interrupt_thread(thread: int) -> None:
    """Have the thread raise `Interrupted` at its next step in Python."""
    # CPython only: elsewhere the thread goes on, and nobody waits for it.
    if hasattr(ctypes, "pythonapi"):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))


def forget_interrupt(thread: int) -> None:
    """Take back an interruption that has not been raised yet."""
    if hasattr(ctypes, "pythonapi"):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
