"""Small bars, one a run: what passed stands above a line and what did not hangs below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...result import Outcome
from ..run_report import Point

_WIDTH, _GAP, _HALF = 5, 2, 9


@dataclass(frozen=True)
class Bar:
    """A rectangle, in pixels; `kind` is its class."""

    kind: str
    x: int
    y: float
    height: float


@dataclass(frozen=True)
class Spark:
    """A row of bars; `label` says in words what they show, `line` is where zero is."""

    bars: tuple[Bar, ...]
    width: int
    label: str
    bar_width: int = _WIDTH
    height: int = 2 * _HALF
    line: int = _HALF


def spark(points: Sequence[Point]) -> Spark | None:
    """The bars of the points, the oldest first; None where there is no past to show."""
    ran = [point for point in points if point.total]
    if len(ran) < 2:
        return None
    bars = [bar for place, point in enumerate(ran) for bar in _bars(place * (_WIDTH + _GAP), point)]
    return Spark(tuple(bars), len(ran) * (_WIDTH + _GAP) - _GAP, _label(ran))


def _bars(x: int, point: Point) -> list[Bar]:
    share = {outcome: point.outcomes.get(outcome, 0) / point.total for outcome in Outcome}
    up, failed, error = (
        round(share[outcome] * (_HALF - 1), 1) for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR)
    )
    bars = [
        Bar("passed", x, _HALF - up, up),
        Bar("failed", x, _HALF, failed),
        Bar("error", x, _HALF + failed, error),
    ]
    return [bar for bar in bars if bar.height]


def _label(points: Sequence[Point]) -> str:
    said = ", ".join(_in_words(point) for point in points)
    return f"The last {len(points)} runs, the oldest first: {said}"


def _in_words(point: Point) -> str:
    if point.total == 1:
        return next(outcome.value for outcome in Outcome if point.outcomes.get(outcome) and _ran(outcome))
    return f"{point.passed:,} of {point.total:,} passed"


def _ran(outcome: Outcome) -> bool:
    return outcome is not Outcome.SKIPPED
