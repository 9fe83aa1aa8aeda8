"""An event loop in a daemon thread of its own."""

from __future__ import annotations

import _socket
import asyncio
import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .forbidden_sockets import are_guarded
from .formatting import exact_seconds
from .plain_traces import plain_trace

T = TypeVar("T")

# A lock that is waited for without end can't be interrupted by Ctrl-C on Windows; short waits can.
_SLICE = 0.2


class LoopThread:
    """One daemon thread that owns one event loop; it starts with the first thing it is given."""

    def __init__(self, name: str = "convoprobe-loop") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._before_close: list[Callable[[float], object]] = []
        self._ended = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def submit(self, coro: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start a coroutine and return at once. Raises RuntimeError after `close`."""
        with self._lock:
            try:
                loop = self._started()
            except RuntimeError:
                coro.close()
                raise
            return asyncio.run_coroutine_threadsafe(coro, loop)

    def run(
        self,
        coro: Coroutine[Any, Any, T],
        timeout: float | None = None,
        tick: Callable[[], object] = bool,
    ) -> T:
        """Run a coroutine to its end and return what it returns, or raise what it raises.

        `tick` is called now and then on the thread that waits. Ctrl-C while waiting is raised at once, and
        the coroutine is cancelled. Raises `TimeoutError` if it has not ended after `timeout` seconds; it is
        cancelled then, and not waited for any more. Raises `concurrent.futures.CancelledError` when the loop
        is closed in the middle, and RuntimeError on the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            coro.close()
            raise RuntimeError("run() would wait for its own thread; await the coroutine instead")
        future = self.submit(coro)
        try:
            if not wait_for(future, timeout, tick):
                raise TimeoutError(f"it has not ended after {exact_seconds(timeout)}")
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Call a plain function on the loop soon, in the order of the calls; works while `close` is at it."""
        with self._lock:
            (self._loop or self._started()).call_soon_threadsafe(function, *args)

    def before_close(self, hook: Callable[[float], object]) -> None:
        """Have `hook(seconds)` called as the first act of `close`, when nothing can be submitted any more."""
        self._before_close.append(hook)

    def close(self, timeout: float = 10.0) -> bool:
        """Cancel what runs, let it clean up, close the loop and end the thread.

        Returns False if something refused to end within `timeout` seconds: the thread is then
        left alone with it (it is a daemon, and doesn't keep the process from ending), rather than
        destroying what is still pending. A second call does nothing.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("close() cannot be called from the thread that it ends")
        deadline = time.monotonic() + timeout
        with self._lock:
            first, self._closed = not self._closed, True
        if first:
            for hook in self._before_close:
                hook(_left(deadline) / 2)
        return self._end(deadline) if first else not self._alive()

    def _started(self) -> asyncio.AbstractEventLoop:
        """The running loop; the caller has the lock."""
        if self._closed:
            raise RuntimeError("the event loop of convoprobe is closed: nothing can be started any more")
        if self._loop is None:
            self._loop = _new_loop()
            self._loop.set_exception_handler(_log)
            served = self._loop, self._ended
            self._thread = threading.Thread(target=_serve, args=served, name=self._name, daemon=True)
            self._thread.start()
        return self._loop

    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _end(self, deadline: float) -> bool:
        if self._loop is None or self._thread is None:
            return True
        ending = asyncio.run_coroutine_threadsafe(_end_tasks(_left(deadline)), self._loop)
        # The second more is for a loop that is busy just now; a blocked one never answers.
        if not wait_for(ending, _left(deadline) + 1.0) or not ending.result():
            return False
        self._ended.set()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_left(deadline) + 1.0)
        return not self._thread.is_alive()


def _new_loop() -> asyncio.AbstractEventLoop:
    """A loop, also where a suite forbids sockets."""
    # Windows has no pair below the class of sockets.
    if are_guarded() and hasattr(_socket, "socketpair"):
        return _LoopWithoutSocketClass()
    return asyncio.new_event_loop()


class _LoopWithoutSocketClass(asyncio.SelectorEventLoop):
    """A loop whose thread is woken through a pair of the sockets that `socket.socket` is made from.

    asyncio makes the pair with `socket.socket`, which a guard has replaced, though nothing leaves the process
    by it. There is no public way to give a loop another pair.
    """

    def _make_self_pipe(self) -> None:
        loop: Any = self  # these attributes are asyncio's own
        loop._ssock, loop._csock = _socket.socketpair()
        loop._ssock.setblocking(False)
        loop._csock.setblocking(False)
        loop._internal_fds += 1
        loop._add_reader(loop._ssock.fileno(), loop._read_from_self)


def _log(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what nobody has handled as asyncio does, but without parsing source (see `plain_traces`)."""
    rest = {key: value for key, value in context.items() if key != "exception"}
    if isinstance(error := context.get("exception"), BaseException):
        rest["message"] = f"{context.get('message')}\n{plain_trace(error)}"
    loop.default_exception_handler(rest)


def _serve(loop: asyncio.AbstractEventLoop, ended: threading.Event) -> None:
    """Run the loop until its owner ends it: one job that stops it must not take it from all others.

    asyncio lets the two exceptions through after handing them to whoever awaits the task.
    """
    while not ended.is_set():
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()
    loop.close()


async def _end_tasks(seconds: float) -> bool:
    """Cancel every other task once, and wait until they have cleaned up. False if they don't."""
    deadline = time.monotonic() + seconds
    me = asyncio.current_task()
    while tasks := [task for task in asyncio.all_tasks() if task is not me]:
        for task in tasks:
            task.cancel()
        done, pending = await asyncio.wait(tasks, timeout=_left(deadline))
        for task in done:
            # Looking at it is what keeps asyncio from logging that nobody did.
            if not task.cancelled():
                task.exception()
        if pending:
            return False
    await asyncio.get_running_loop().shutdown_asyncgens()
    return True


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def wait_for(
    future: concurrent.futures.Future[Any], timeout: float | None, tick: Callable[[], object] = bool
) -> bool:
    """Whether the future is done within `timeout` seconds; None waits without end. `tick`: see `run`."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not future.done():
        left = _SLICE if deadline is None else min(_SLICE, _left(deadline))
        if left <= 0.0:
            return False
        if not concurrent.futures.wait((future,), left).done:
            tick()
    return True
