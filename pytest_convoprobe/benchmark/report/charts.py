"""The geometry of bars with intervals, and of gaps on one scale. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...stats import Gap, Interval

_WIDTH, _HEIGHT, _MARGIN = 240, 20, 10
_SCALES = (0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class RateBar:
    """A share as a bar from 0 to 100, and its interval, None where it is unknown."""

    at: float
    low: float | None
    high: float | None


def bar(share: float, interval: Interval | None) -> RateBar:
    """The bar of a share between 0 and 1."""
    if interval is None:
        return RateBar(_percent(share), None, None)
    return RateBar(_percent(share), _percent(interval.low), _percent(interval.high))


def _percent(share: float) -> float:
    return round(100 * max(0.0, min(1.0, share)), 1)


@dataclass(frozen=True)
class Whisker:
    """A gap as a point with its interval, in pixels; `zero` is where there is no gap."""

    at: float
    low: float | None
    high: float | None
    zero: float = _WIDTH / 2
    middle: float = _HEIGHT / 2
    width: int = _WIDTH
    height: int = _HEIGHT


def scale_of(gaps: Iterable[Gap]) -> float:
    """The gap at the end of a scale that all of these fit on."""
    ends = [end for gap in gaps for end in (gap.difference, *_ends(gap.interval))]
    largest = max(map(abs, ends), default=0.0)
    return next((scale for scale in _SCALES if largest <= scale), _SCALES[-1])


def whisker(gap: Gap, scale: float) -> Whisker:
    """The gap on a scale; what reaches beyond its ends is cut there."""
    ends = [_pixels(end, scale) for end in _ends(gap.interval)]
    return Whisker(_pixels(gap.difference, scale), *(ends or (None, None)))


def _ends(interval: Interval | None) -> tuple[float, ...]:
    return () if interval is None else (interval.low, interval.high)


def _pixels(difference: float, scale: float) -> float:
    within = max(-1.0, min(1.0, difference / scale))
    return round(_WIDTH / 2 + within * (_WIDTH / 2 - _MARGIN), 1)


def level(share: float) -> int:
    """0 to 10, for the colour of a share; 0 is none at all and 10 all of them."""
    return min(9, max(1, round(10 * share))) if 0 < share < 1 else round(10 * share)
