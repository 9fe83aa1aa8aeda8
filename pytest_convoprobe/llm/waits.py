"""What calls to models wait for, as somebody may want to know who waits for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..formatting import counted, exact_seconds, seconds
from ..text import one_line, shorten

if TYPE_CHECKING:
    from .port import LLMRequest

_MOST_ERROR = 200  # characters


@dataclass
class CallInProgress:
    """A call that has not ended: its `tries` so far of `most`, and the provider's `error` at the last one.

    Each may take `limit` seconds. `most` counts faults of the provider: rate limits allow for more tries.
    """

    model: str
    most: int
    began: float
    limit: float
    tries: int = 1
    error: str = ""
    again_at: float | None = None

    def failed(self, error: str, wait: float) -> None:
        """A try has failed, and the next comes after so many seconds."""
        self.error, self.again_at = shorten(one_line(error), _MOST_ERROR), time.monotonic() + wait

    def try_again(self) -> None:
        self.tries, self.again_at = self.tries + 1, None

    def words(self, now: float) -> str:
        """`openai/gpt-4o for 42 s, try 3 of 6 in 8.0 s (each at most 60 s); the last error: HTTP 500`."""
        wait = max(0.0, self.again_at - now) if self.again_at is not None else None
        number = self.tries + (wait is not None)
        soon = f" in {seconds(wait)}" if wait is not None else ""
        error = f"; the last error: {self.error}" if self.error else ""
        tries = f"try {number} of {self.most_tries}{soon} (each at most {exact_seconds(self.limit)})"
        return f"{self.model} for {seconds(now - self.began)}, {tries}{error}"

    @property
    def most_tries(self) -> int:
        """How many tries there are at least."""
        return max(self.most, self.tries + (self.again_at is not None))


@dataclass
class Waits:
    """The calls that somebody waits for at this moment; any thread may ask."""

    _calls: list[CallInProgress] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def words(self, least: float = 0.0) -> str:
        """What the longest of them waits for, and how many others there are; empty if there is none.

        A call counts that has failed before, or has lasted for at least so many seconds.
        """
        begun_by = time.monotonic() - least
        with self._lock:
            known = [call for call in self._calls if call.error or call.began <= begun_by]
        calls = sorted(known, key=lambda call: (not call.error, call.began))
        if not calls:
            return ""
        more = f" (and {counted(len(calls) - 1, 'other call')})" if calls[1:] else ""
        return f"waiting for {calls[0].words(time.monotonic())}{more}"

    @contextmanager
    def with_call(self, call: CallInProgress) -> Iterator[None]:
        """A time in which somebody waits for the call."""
        with self._lock:
            self._calls.append(call)
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)


WAITS: ContextVar[Waits | None] = ContextVar("convoprobe_waits", default=None)
"""Where calls are noted, if somebody wants to know. Tasks have it from whoever starts them."""


@contextmanager
def noted(request: LLMRequest) -> Iterator[CallInProgress]:
    """The time of a call."""
    model = request.model
    call = CallInProgress(model.model or "", model.max_attempts, time.monotonic(), model.timeout)
    waits = WAITS.get()
    if waits is None:
        yield call
    else:
        with waits.with_call(call):
            yield call
