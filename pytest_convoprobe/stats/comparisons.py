"""Whether two sides differ, and what to make of many such questions at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from .checks import require_counts, require_finite, require_level, require_shares
from .distributions import Interval, student_t
from .resampling import sign_flip_p


def mean_difference(differences: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The interval of the mean of paired differences, one a cluster, by Student's t.

    Trials of one cluster depend on each other in any way they like; clusters don't. Of few clusters, the ends
    may lie beyond what a difference can be. None where the data show no spread: fewer than two
    clusters, or all differences alike. Raises ValueError for a difference that isn't a finite number.
    """
    require_level(confidence)
    require_finite(differences, "a paired difference")
    count = len(differences)
    if count < 2 or math.isclose(max(differences), min(differences), abs_tol=1e-12):
        return None
    mean = sum(differences) / count
    variance = sum((difference - mean) ** 2 for difference in differences) / (count - 1)
    half = student_t((1 + confidence) / 2, count - 1) * math.sqrt(variance / count)
    return Interval(mean - half, mean + half)


@dataclass(frozen=True)
class Gap:
    """By how much the first side is above the second, on average over `pairs` pairs.

    `interval` is None where the pairs show no spread; `p_value` is two-sided.
    """

    difference: float
    interval: Interval | None
    p_value: float
    pairs: int

    def turned(self) -> Gap:
        """By how much the second side is above the first."""
        interval = self.interval and Interval(-self.interval.high, -self.interval.low)
        return replace(self, difference=-self.difference, interval=interval)


def paired_gap(
    first: Sequence[float | None],
    second: Sequence[float | None],
    confidence: float = 0.95,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Gap | None:
    """The gap between two sides, one pair of rates each: two groups' pass rates in the same scenario.

    A pair with a None is left out. The interval is `mean_difference`'s, cut at -1 and 1; the p-value is that
    of `sign_flip_p`. None without pairs. Raises ValueError for sides of unequal length, and for what is no
    rate.
    """
    if len(first) != len(second):
        raise ValueError(f"pairs need as many values on either side, not {len(first)} and {len(second)}")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    require_shares(chain.from_iterable(pairs), "a rate")
    if not pairs:
        return None
    differences = [a - b for a, b in pairs]
    interval = mean_difference(differences, confidence)
    return Gap(
        difference=sum(differences) / len(differences),
        interval=interval and Interval(max(-1.0, interval.low), min(1.0, interval.high)),
        p_value=sign_flip_p(differences, resamples, seed),
        pairs=len(differences),
    )


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p-value of paired outcomes that differ: passed only in one or only in the other.

    Raises ValueError for counts that are negative or no whole numbers.
    """
    require_counts((only_first, only_second), "a count of pairs")
    discordant = only_first + only_second
    if discordant == 0:
        return 1.0
    tail = sum(math.comb(discordant, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value adjusted by Holm's step-down method, in the order given.

    Rejecting those at or below a level keeps the chance of even one false rejection below it, however the
    tests depend on each other. Raises ValueError for NaN, or whatever else isn't between 0 and 1: it would be
    sorted anywhere, and others' values with it.
    """
    require_shares(p_values, "a p-value")
    count = len(p_values)
    adjusted, highest = [0.0] * count, 0.0
    for place, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (count - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted
