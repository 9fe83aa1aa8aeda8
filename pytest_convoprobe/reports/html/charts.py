"""Small bars, one a run: what passed is above a line, what did not is below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_WIDTH, _GAP, _HALF = 5, 2, 9
_KINDS = ("passed", "failed", "error")


@dataclass(frozen=True)
class SparkBar:
    """A rectangle, in pixels; `kind` is its class."""

    kind: str
    x: int
    y: float
    height: float


@dataclass(frozen=True)
class Spark:
    """The bars of so many `runs`; `label` describes them, `line` is where zero is."""

    bars: tuple[SparkBar, ...]
    runs: int
    width: int
    label: str
    bar_width: int = _WIDTH
    height: int = 2 * _HALF
    line: int = _HALF


def spark(runs: Sequence[Mapping[str, int]]) -> Spark | None:
    """The bars of runs, given as trials by outcome, the oldest first; None where there is no past to show."""
    ran = [run for run in runs if _total(run)]
    if len(ran) < 2:
        return None
    bars = [bar for place, run in enumerate(ran) for bar in _bars(place * (_WIDTH + _GAP), run)]
    return Spark(tuple(bars), len(ran), len(ran) * (_WIDTH + _GAP) - _GAP, _label(ran))


def _total(run: Mapping[str, int]) -> int:
    """The trials that ran: skipped ones say nothing."""
    return sum(run.get(kind, 0) for kind in _KINDS)


def _bars(x: int, run: Mapping[str, int]) -> list[SparkBar]:
    up, failed, error = (round(run.get(kind, 0) / _total(run) * (_HALF - 1), 1) for kind in _KINDS)
    bars = [
        SparkBar("passed", x, _HALF - up, up),
        SparkBar("failed", x, _HALF, failed),
        SparkBar("error", x, _HALF + failed, error),
    ]
    return [bar for bar in bars if bar.height]


def _label(runs: Sequence[Mapping[str, int]]) -> str:
    said = ", ".join(map(_in_words, runs))
    return f"The last {len(runs)} runs, the oldest first: {said}"


def _in_words(run: Mapping[str, int]) -> str:
    if _total(run) == 1:
        return next(kind for kind in _KINDS if run.get(kind))
    return f"{run.get('passed', 0):,} of {_total(run):,} passed"
