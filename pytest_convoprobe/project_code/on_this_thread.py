"""Code of the project that has to run on the caller's thread, which is pytest's, with a time limit."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ..errors import TimeLimitExceeded
from ..threads import Interrupted, forget_interrupt, interrupt_thread, start_thread
from .clock import Clock
from .code_place import BLOCKS_THREAD, CodePlace, frames_of_thread, of_frames
from .host_loop import INTERRUPT_SIGNAL
from .last_threads import watched
from .pulse import pulse

T = TypeVar("T")

_AGAIN = 0.5  # seconds until code that has caught the interruption is interrupted again


def in_time(function: Callable[[], T], seconds: float, error: TimeLimitExceeded) -> T:
    """What the function returns. Once the time is up, it is interrupted and `error` raised with the place."""
    clock, timer = Clock(), ThreadTimer(seconds)
    clock.limits.append(clock.now() + seconds)
    with watched(), pulse.around(clock), contextlib.suppress(Interrupted), timer.interrupting():
        result = function()
    if not timer.late:
        return result
    if timer.found is not None:
        error.located(timer.found.place, timer.found.trace, timer.found.advice)
    raise error


class ThreadTimer:
    """Interrupts the thread that made it when the time is up, until `interrupting` has ended.

    Without `seconds`, it does so when `interrupt` is called, from any thread.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.late = False
        self.found: CodePlace | None = None
        """Where the code was when the time was up."""
        self._seconds = seconds
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._by_signal = False

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        if self._seconds is not None:
            start_thread(self._wait, "convoprobe-hook-limit")
        with self._signals():
            try:
                yield
            finally:
                with self._lock:
                    self._ended.set()
                    forget_interrupt(self._thread)

    def _wait(self) -> None:
        if self._ended.wait(self._seconds):
            return
        self.found = of_frames(frames_of_thread(self._thread), BLOCKS_THREAD)
        self._insist()

    def interrupt(self) -> None:
        """The time is up now: interrupt the thread, again and again until it gives in. Doesn't block."""
        start_thread(self._insist, "convoprobe-hook-limit")

    def _insist(self) -> None:
        self.late = True
        while not self._ended.is_set():
            self._interrupt_once()
            self._ended.wait(_AGAIN)

    def _interrupt_once(self) -> None:
        with self._lock:
            if self._by_signal:
                signal.pthread_kill(self._thread, INTERRUPT_SIGNAL)  # type: ignore[arg-type]
            elif not self._ended.is_set():
                interrupt_thread(self._thread)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """On the main thread of a Unix system: a signal also ends a call that waits, such as `time.sleep`."""
        usable = INTERRUPT_SIGNAL is not None and threading.current_thread() is threading.main_thread()
        if not usable or not _is_free(signal.getsignal(INTERRUPT_SIGNAL)):  # type: ignore[arg-type]
            yield
            return
        previous = signal.signal(INTERRUPT_SIGNAL, self._raise)  # type: ignore[arg-type]
        self._by_signal = True
        try:
            yield
        finally:
            with self._lock:
                self._by_signal = False
            signal.signal(INTERRUPT_SIGNAL, previous)  # type: ignore[arg-type]

    def _raise(self, number: int, frame: object) -> None:
        if self.late and not self._ended.is_set():
            raise Interrupted


def _is_free(handler: Any) -> bool:
    """Whether nobody else uses the signal."""
    return handler is signal.SIG_DFL or getattr(handler, "of_convoprobe", False)
