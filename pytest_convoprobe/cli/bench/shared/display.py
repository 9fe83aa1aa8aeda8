"""Shows a run on stderr: bars that are redrawn in place on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, TextIO

import click

from ....text import cell_width, shorten
from ...console import Console
from .lines import bar_lines, beginning, name_of, result, so_far
from .progress_model import Bar, ProgressModel

_STEP = 0.1
_SECONDS_BETWEEN = 30.0
# CI systems end a job that prints nothing for ten minutes or so.
_MOST_SECONDS_BETWEEN = 300.0
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"


class Display(Protocol):
    """A context in which somebody waits; `tick` looks at the run and shows what is new."""

    def __enter__(self) -> Display: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def tick(self) -> None: ...


def display_of(watch: ProgressModel, stream: TextIO | None = None) -> Display:
    """Bars if the stream, stderr by default, is a terminal, plain lines elsewhere."""
    out = sys.stderr if stream is None else stream
    live = out.isatty() and os.environ.get("TERM") != "dumb"
    return Bars(watch, out) if live else PlainLines(watch, out)


@dataclass
class Bars:
    """A line for each bar in progress; bars that are over scroll away above them."""

    watch: ProgressModel
    stream: TextIO
    _settled: int = 0
    _drawn: list[str] = field(default_factory=list)

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tick()
        if self._drawn:
            self._write("\n")

    def tick(self) -> None:
        """Draw everything again, in one write, so that nothing flickers."""
        console, bars = Console.of(self.stream), self.watch.bars
        settled = self._newly_settled(bars)
        live = self._live(console, [bar for bar in bars if not bar.over])
        live += [console.safe(line) for line in self._waiting(console)]
        if not settled and live == self._drawn:
            return
        up = self._rows_above(console)
        lines = [f"{line}{_CLEAR_LINE}\n" for line in (self._ended(console, bar) for bar in settled)]
        text = "".join(lines) + f"{_CLEAR_LINE}\n".join(live) + _CLEAR_BELOW
        self._write("\r" + (f"\x1b[{up}A" if up else "") + text)
        self._drawn = live

    def _newly_settled(self, bars: Sequence[Bar]) -> list[Bar]:
        """Bars come to their end in the order in which they began, as stages do."""
        over = [bar for bar in bars if bar.over]
        new, self._settled = over[self._settled :], len(over)
        return new

    def _live(self, console: Console, bars: Sequence[Bar]) -> list[str]:
        """The lines to draw: no more than there is room for without scrolling."""
        # Lines that scrolled away can't be redrawn: the cursor doesn't go up beyond the screen.
        most = max(1, shutil.get_terminal_size().lines - 2)
        shown = bars if len(bars) <= most else _busiest(bars, most - 1)
        lines = bar_lines(console, shown, self.watch.clock()) if shown else []
        return lines if len(shown) == len(bars) else [*lines, f"and {len(bars) - len(shown)} more"]

    def _waiting(self, console: Console) -> list[str]:
        """What is waited for, below the bars. In one line: more would be redrawn in the wrong place."""
        words = self.watch.waiting()
        return [shorten(words, (console.width or 80) - 1)] if words else []

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def _ended(self, console: Console, bar: Bar) -> str:
        return f"{console.safe(name_of(bar))}: {result(bar, self.watch.clock())}"

    def _rows_above(self, console: Console) -> int:
        """How many rows the cursor is below the first one that was drawn, also if the terminal was made
        narrower.
        """
        width = console.width or 80
        return sum(max(1, -(-cell_width(line) // width)) for line in self._drawn) - 1 if self._drawn else 0


def _busiest(bars: Sequence[Bar], most: int) -> list[Bar]:
    """Those that aren't complete, in their order, then the others."""
    return sorted(bars, key=lambda bar: bar.done >= bar.missing)[:most]


@dataclass
class _Said:
    """What of a bar was said last: how many rows were done then, and when."""

    done: int
    at: float
    over: bool = False


@dataclass
class PlainLines:
    """A line when a bar begins and when it is over.

    In between there is one for each tenth of it, but not more than one in 30 seconds, and one after five
    minutes in any case.
    """

    watch: ProgressModel
    stream: TextIO
    _said: dict[int, _Said] = field(default_factory=dict)
    _waited_at: float = -math.inf

    def __enter__(self) -> PlainLines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tick()

    def tick(self) -> None:
        """Say what is new."""
        now = self.watch.clock()
        for number, bar in enumerate(self.watch.bars):
            if number not in self._said:
                self._say(bar, beginning(bar))
                self._said[number] = _Said(0, now, over=not bar.missing)
            said = self._said[number]
            if bar.over and not said.over:
                self._say(bar, result(bar, now))
                said.over = True
            elif not said.over and self._is_time(bar, said, now):
                self._say(bar, so_far(bar, now))
                said.done, said.at = bar.done, now
        self._say_waiting(now)

    def _say_waiting(self, now: float) -> None:
        words = self.watch.waiting()
        if words and now - self._waited_at >= _SECONDS_BETWEEN:
            self._waited_at = now
            click.echo(Console.of(self.stream).safe(f"{self.watch.stage}: {words}"), file=self.stream)

    @staticmethod
    def _is_time(bar: Bar, said: _Said, now: float) -> bool:
        passed, more = now - said.at, bar.done - said.done
        return (passed >= _SECONDS_BETWEEN and more >= bar.missing * _STEP) or passed >= _MOST_SECONDS_BETWEEN

    def _say(self, bar: Bar, words: str) -> None:
        line = Console.of(self.stream).safe(f"{name_of(bar)}: {words}")
        click.echo(line, file=self.stream)
