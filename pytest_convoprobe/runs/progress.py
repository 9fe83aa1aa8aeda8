"""One line that says how far a run is, and the words for it. Each door has its own terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..formatting import dollars

if TYPE_CHECKING:
    from .pool import Stats


class Terminal(Protocol):
    """Where a line can be shown.

    `delay` is how many seconds pass before the first line, `interval` the time between two of them.
    """

    delay: float
    interval: float

    def show(self, words: str) -> bool:
        """Show the words in place of earlier ones, if they fit. Returns whether anything was shown."""

    def clear(self) -> None:
        """Remove what was shown."""


class ProgressLine:
    """A context in which somebody waits; `tick` may be called as often as one likes."""

    def __init__(
        self,
        terminal: Terminal,
        words: Callable[[], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terminal = terminal
        self._words = words
        self._clock = clock
        self._next = clock() + terminal.delay
        self._shown = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._terminal.clear()

    def tick(self, words: str | None = None) -> None:
        """Show or renew the line, if it is time to."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + self._terminal.interval
        self._shown |= self._terminal.show(self._words() if words is None else words)


def run_words(stats: Stats, spent: tuple[float | None, int], total: int | None = None) -> str:
    """`3 done, 4 running, 2 waiting, $0.1200`; with a total `3 of 9 done, 4 running, $0.1200`."""
    cost, tokens = spent
    done = f"{stats.done} done" if total is None else f"{stats.done} of {total} done"
    waiting = f", {stats.waiting} waiting" if stats.waiting and total is None else ""
    return f"{done}, {stats.running} running{waiting}, {dollars(cost) if cost else f'{tokens:,} tokens'}"
