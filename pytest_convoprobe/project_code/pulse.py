"""Ends a process whose agents keep Python's global interpreter lock past every time limit.

A call into C that keeps the lock (`re.search` with a pattern that never ends) stops all threads, those of
our time limits too. `faulthandler` has a timer that needs no lock: as long as a thread of ours can run,
it winds that timer up again. When it can't any more, the timer writes where all threads are and exits.
"""

from __future__ import annotations

import contextlib
import faulthandler
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..threads import start_thread
from .clock import Clock

_SPARE = 6.0  # seconds above the time limit, for all that is done where threads can run
_BEAT = 1.0
_DEBUGGERS = ("debugpy", "pydevd")  # they stop all threads too


class Pulse:
    """Beats while code of the project is waited for, in a process that may be ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._output: int | None = None
        self._waiting: dict[Clock, int] = {}
        self._running = False

    def enable(self, output: int) -> None:
        """Allow the process to be ended; `output` is the file descriptor for the reason."""
        if not any(name in sys.modules for name in _DEBUGGERS):
            self._output = output

    def disable(self) -> None:
        """Nothing is run any more."""
        self._output = None

    @contextmanager
    def around(self, clock: Clock) -> Iterator[None]:
        """A time in which a conversation waits for code of the project."""
        with self._lock:
            self._waiting[clock] = self._waiting.get(clock, 0) + 1
            if self._output is not None and not self._running:
                self._running = True
                start_thread(self._run, "convoprobe-pulse")
        try:
            yield
        finally:
            with self._lock:
                self._waiting[clock] -= 1
                if not self._waiting[clock]:
                    del self._waiting[clock]

    def _run(self) -> None:
        while self._wind_up():
            _if_a_call_into_C_kept_the_interpreter_past_its_time_limit_the_process_ends_here()
        faulthandler.cancel_dump_traceback_later()

    def _wind_up(self) -> bool:
        with self._lock:
            limits = [clock.left() for clock in self._waiting]
            self._running = bool(limits) and self._output is not None
            if self._running and self._output is not None:
                with contextlib.suppress(ValueError, OSError):
                    seconds = max([0.0, *limits]) + _SPARE
                    faulthandler.dump_traceback_later(seconds, exit=True, file=self._output)
            return self._running


def _if_a_call_into_C_kept_the_interpreter_past_its_time_limit_the_process_ends_here() -> None:
    """The name is read in the stack that `faulthandler` writes: it can't write a sentence."""
    time.sleep(_BEAT)


pulse = Pulse()
