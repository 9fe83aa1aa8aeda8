"""Threads that agents have started and never end: they must not keep the process alive.

The interpreter waits at its end for all threads that aren't daemons. Those of the host's own tests are the
host's business; those that appeared during our conversations are ours.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from ..stop_signals import leave
from ..threads import start_thread
from .code_place import frames_of_thread, of_frames

_GRACE = 3.0  # seconds that such a thread has to end by itself
_GRACE_OF_INTERRUPTED = 0.5
_SLICE = 0.1

_seen: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_before: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_in_flight = 0
_lock = threading.Lock()
_guarding: list[int] = []


@contextmanager
def watched() -> Iterator[None]:
    """A time in which code of the project runs: threads that appear are its own."""
    global _in_flight
    with _lock:
        if not _in_flight:
            _before.clear()
            _before.update(threading.enumerate())
        _in_flight += 1
    try:
        yield
    finally:
        with _lock:
            _in_flight -= 1
            _seen.update(thread for thread in threading.enumerate() if _is_new(thread))


def _is_new(thread: threading.Thread) -> bool:
    return not thread.daemon and thread not in _before and thread is not threading.main_thread()


def leave_behind(status: int, *, interrupted: bool = False) -> None:
    """At the end of a run: have the process end with this status, whatever threads its agents have left.

    After Ctrl-C or SIGTERM (`interrupted`) they have less time to end by themselves. Does nothing where there
    are none, and never ends a process that has other threads of its own.
    """
    first = not _guarding
    _guarding[:] = [status]
    if first and any(thread.is_alive() for thread in _seen):
        grace = _GRACE_OF_INTERRUPTED if interrupted else _GRACE
        start_thread(partial(_guard, grace), "convoprobe-last-threads")
    elif first:
        _guarding.clear()


def _guard(grace: float) -> None:
    while threading.main_thread().is_alive():
        time.sleep(_SLICE)
    since = time.monotonic()
    while _others() or time.monotonic() - since < grace:
        time.sleep(_SLICE)
    _exit(_guarding[0])


def _others() -> bool:
    """Whether threads that aren't ours keep the process alive."""
    waited_for = (thread for thread in threading.enumerate() if not thread.daemon)
    return any(thread not in _seen and thread is not threading.main_thread() for thread in waited_for)


def _exit(status: int) -> None:
    for thread in [thread for thread in _seen if thread.is_alive()]:
        found = of_frames(frames_of_thread(thread.ident or 0))
        place = f" at {found.place}" if found else ""
        print(  # noqa: T201 - pytest and its capturing have ended
            f"convoprobe: the thread {thread.name} of an agent never ended{place}; "
            "the process ends without it. Make it a daemon thread, or end it when the agent is closed.",
            file=sys.stderr,
        )
    leave(status)
