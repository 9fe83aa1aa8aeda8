"""Synchronous code of others, run in daemon threads that nobody has to wait for.

`ThreadPoolExecutor` joins its threads when the interpreter ends, and a call that hangs takes one of
its few threads away from everybody else. Here a hanging call holds up only whoever waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_NAME = "convoprobe-target"


class Call(Generic[T]):
    """A function on its way through a thread; its outcome goes to a future of the caller's loop.

    The context variables are those of the caller. What means something to asyncio itself becomes a
    `RuntimeError`: a future can't hold a `StopIteration`, and the others would end the caller's task.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()
        self.finished = False

    def run(self) -> None:
        """Called once, in the thread."""
        try:
            result = self._context.run(self._function)
        except (StopIteration, GeneratorExit, asyncio.CancelledError) as signal:
            error = RuntimeError(f"the function raised {type(signal).__name__}")
            error.__cause__ = signal
            self._deliver(self._fail, error)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the caller
            self._deliver(self._fail, error)
        else:
            self._deliver(self._succeed, result)

    def _deliver(self, settle: Callable[[Any], None], outcome: object) -> None:
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


def in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Run the function in a daemon thread of its own."""
    call = Call(function)
    threading.Thread(target=call.run, name=_NAME, daemon=True).start()
    return call.future


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

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Run the function after all that were given before."""
        call = Call(function)
        if self._last is None:
            threading.Thread(target=self._work, name=_NAME, daemon=True).start()
        self._last = call
        self._calls.put(call)
        return call.future

    def stop(self) -> None:
        """End the thread after the calls that it has; may be called again."""
        if self._last is not None:
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()
