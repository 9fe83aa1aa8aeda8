"""The time of one conversation."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from .code_place import CodePlace

_DAY = 86_400.0


class InFlight(Protocol):
    """A call of the project's code that somebody waits for."""

    abandoned: bool

    def code_place(self) -> CodePlace | None:
        """Where its code is now."""


class Clock:
    """Measures how long a conversation takes, without what others cost it.

    It stops while the conversation's own code is ended or closed, and gets back the seconds in which the
    code of another conversation blocked the event loop that both share. `calls` are those in flight.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a monitor gives seconds back from another thread
        self._given = 0.0
        self._stops = 0
        self._stopped_at = 0.0
        self.calls: dict[InFlight, None] = {}
        self.limits: list[float] = []
        """When its time limits are over, by this clock."""
        self.over = False
        """Whether nobody waits for the conversation any more."""

    def left(self) -> float:
        """Seconds until the first of its time limits is over; a day if nothing limits it."""
        return min(self.limits, default=self.now() + _DAY) - self.now()

    @property
    def stopped(self) -> bool:
        return self._stops > 0

    def now(self) -> float:
        """Seconds since some moment, those that don't count left out."""
        with self._lock:
            return (self._stopped_at if self._stops else time.monotonic()) - self._given

    def give_back(self, seconds: float) -> None:
        """So many seconds were lost to another conversation."""
        with self._lock:
            if not self._stops:
                self._given += seconds

    @contextmanager
    def stop(self) -> Iterator[None]:
        """A time that doesn't count."""
        with self._lock:
            if not self._stops:
                self._stopped_at = time.monotonic()
            self._stops += 1
        try:
            yield
        finally:
            with self._lock:
                self._stops -= 1
                if not self._stops:
                    self._given += time.monotonic() - self._stopped_at


CURRENT: contextvars.ContextVar[Clock | None] = contextvars.ContextVar("convoprobe_clock", default=None)
"""The conversation that runs here; code of the project inherits it, which shows whose code it is."""


def current_clock() -> Clock:
    """The clock of the conversation that runs here, or a new one that nothing is measured by."""
    return CURRENT.get() or Clock()
