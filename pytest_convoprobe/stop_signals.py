"""Signals that end what runs: Ctrl-C, and SIGTERM, which CI systems send to a job that is cancelled.

Nothing here is used by `run_scenario`: the signals of a host's process are the host's.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType

from .threads import start_thread

_LATEST = 5.0
"""Seconds after which a process of ours ends in any case. CI systems kill it some seconds after SIGTERM."""

_OURS_TO_END = frozenset({"pytest", "py", "convoprobe", "pytest_convoprobe.cli"})


class Terminated(KeyboardInterrupt):
    """The process got SIGTERM. It is a `KeyboardInterrupt`: what cleans up after Ctrl-C does so here too."""

    def __init__(self) -> None:
        super().__init__("the process was asked to end (SIGTERM)")


INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""The exit statuses of a command that such a signal has ended."""


def exit_status(interrupt: KeyboardInterrupt) -> int:
    """The status of a command that it has ended, as shells have it: 128 and the number of the signal."""
    return INTERRUPTED[isinstance(interrupt, Terminated)]


class SigtermHandler:
    """Raises `Terminated` on the main thread for the first SIGTERM, from `install` to `remove`.

    Those that follow within some seconds change nothing: what was asked for is being done, and they would
    break it off. A later one is raised again, as code of the project may have caught the first.
    It takes the place of the system's default only: a handler of somebody else stays, whenever it came.
    """

    def __init__(self) -> None:
        self._raised_at = -math.inf

    def install(self) -> None:
        """Does nothing where it is installed, and on other threads than the main one."""
        if _on_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._raise)

    def remove(self) -> None:
        """Put the default back, unless somebody else has a handler by now."""
        if _on_main_thread() and self.installed:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    @property
    def installed(self) -> bool:
        return signal.getsignal(signal.SIGTERM) == self._raise

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self._raised_at >= _LATEST:
            self._raised_at = time.monotonic()
            raise Terminated


@contextmanager
def ignored_meanwhile(when: bool) -> Iterator[None]:
    """A time in which Ctrl-C and SIGTERM change nothing, if `when`: a short clean-up after the first of them.

    Somebody who presses Ctrl-C twice wants an earlier end, and not one that leaves agents open and a run
    that is stored as if it were still going on. Handlers of others are kept.
    """
    ours = (signal.SIGINT, signal.SIGTERM) if when and _on_main_thread() else ()
    with contextlib.ExitStack() as stack:
        for number in ours:
            if _is_ours_to_change(handler := signal.getsignal(number)):
                stack.callback(signal.signal, number, handler)
                signal.signal(number, _do_nothing)
        yield


@contextmanager
def ends_process() -> Iterator[None]:
    """A time in which the first Ctrl-C or SIGTERM is raised; it ends this process soon in any case.

    Those that follow change nothing: the first has asked for all that can be done. For processes that are
    ours alone, as the commands are.
    """
    stop = _FirstSignal()
    with contextlib.ExitStack() as stack:
        stack.callback(stop.over.set)
        for number in (signal.SIGINT, signal.SIGTERM) if _on_main_thread() else ():
            if (handler := signal.getsignal(number)) in (signal.default_int_handler, signal.SIG_DFL):
                stack.callback(signal.signal, number, handler)
                signal.signal(number, stop)
        yield


class _FirstSignal:
    """A handler that raises once."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._error: KeyboardInterrupt | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._error is None:
            self._error = Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
            start_thread(self._end_at_last, "convoprobe-end")
            raise self._error

    def _end_at_last(self) -> None:
        if self._error is not None and not self.over.wait(_LATEST):
            end_now(exit_status(self._error))


def send_to_main_thread(number: int) -> None:
    """Interrupt what the main thread waits for, and have it run the handler of the signal."""
    if hasattr(signal, "pthread_kill"):
        # A signal that another thread got would not wake it.
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def end_soon(status: int) -> None:
    """At the end of an interrupted run: have the process end without taking its modules apart.

    With LiteLLM's million objects that takes seconds. Where another program than pytest or `convoprobe` runs
    in this process, nothing changes: how it ends is its own business.
    """
    if "litellm" in sys.modules and _main_program() in _OURS_TO_END:
        gc.freeze()  # pytest looks through all objects five times
        atexit.register(_leave_when_all_ran, status)


def _main_program() -> str:
    """`pytest`, say, whether it was started as a script or by `python -m`."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec.name.removesuffix(".__main__") if spec else PurePath(sys.argv[0]).stem


def _leave_when_all_ran(status: int) -> None:
    # Exit functions are called from the last registered to the first, so this one comes first: `leave` calls
    # the others.
    atexit.unregister(_leave_when_all_ran)
    leave(status)


def leave(status: int) -> None:
    """End the process after its exit functions: coverage, say, writes its data there."""
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    end_now(status)


def end_now(status: int) -> None:
    """End the process without waiting for anything that still runs in it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


def _on_main_thread() -> bool:
    """Python lets no other thread change handlers."""
    return threading.current_thread() is threading.main_thread()


def _is_ours_to_change(handler: object) -> bool:
    owner = getattr(handler, "__self__", None)
    return handler is signal.default_int_handler or isinstance(owner, SigtermHandler)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """In place of a handler."""
