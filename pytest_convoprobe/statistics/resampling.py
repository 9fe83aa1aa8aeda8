"""Intervals and p-values from drawing the data anew. The same seed draws the same."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from .distributions import Interval

T = TypeVar("T")

# Up to so many different sums, the sign flips are counted one and all: 12 differences never have more.
_EXACT_SUMS = 2**12
# Enough for differences of rates of up to a hundred trials. Equal sums of fractions are equal; of floats, not
# always.
_LARGEST_DENOMINATOR = 10_000


def bootstrap(
    clusters: Sequence[T],
    statistic: Callable[[Sequence[T]], float | None],
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """The percentile interval of `statistic`, a function of clusters, when whole clusters are drawn anew.

    A cluster is what doesn't depend on the others: of the rank correlation of targets it is a scenario with
    all targets' trials, not a target. Draws where the statistic is None (or not finite) are left out. None
    with fewer than two clusters, where fewer than half of the draws have a value, and where both ends are the
    same.
    """
    if len(clusters) < 2:
        return None
    rng = random.Random(seed)  # noqa: S311 - to draw samples, not secrets
    draws = (statistic(rng.choices(clusters, k=len(clusters))) for _ in range(resamples))
    found = sorted(value for value in draws if value is not None and math.isfinite(value))
    if not found or 2 * len(found) < resamples:
        return None
    low, high = (_quantile(found, (1 + side * confidence) / 2) for side in (-1, 1))
    return None if math.isclose(low, high, abs_tol=1e-12) else Interval(low, high)


def _quantile(ordered: Sequence[float], level: float) -> float:
    """Between the two nearest values, by how near they are (Hyndman & Fan 1996, definition 7)."""
    place = (len(ordered) - 1) * level
    below = min(int(place), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def sign_flip_p(differences: Sequence[float], resamples: int = 10_000, seed: int = 0) -> float:
    """The two-sided p-value of a mean of paired differences, if either side could as well be the other.

    Exact where the flipped differences have at most 4,096 different sums: always for up to 12 that aren't
    zero, and for many more where they are rates of a few trials. Beyond that, from `resamples` draws,
    counting the observed one with them. 1 without differences. Raises ValueError for a difference that isn't
    finite.
    """
    if not all(map(math.isfinite, differences)):
        raise ValueError("a paired difference has to be a finite number")
    whole = _whole_numbers(differences)
    observed = abs(sum(whole))
    # In one order and with one sign: the draws depend neither on the order nor on which side is first.
    sizes = sorted(abs(value) for value in whole if value)
    sums = _flipped_sums(sizes)
    if sums is not None:
        return sum(ways for total, ways in sums.items() if abs(total) >= observed) / (1 << len(sizes))
    rng = random.Random(seed)  # noqa: S311 - to draw samples, not secrets
    hits = sum(abs(_flipped(sizes, rng)) >= observed for _ in range(resamples))
    return (hits + 1) / (resamples + 1)


def _whole_numbers(values: Sequence[float]) -> list[int]:
    fractions = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in values]
    scale = math.lcm(*(fraction.denominator for fraction in fractions))
    return [int(fraction * scale) for fraction in fractions]


def _flipped_sums(sizes: Sequence[int]) -> Counter[int] | None:
    """How many ways of choosing signs lead to each sum; None where there are too many sums to count."""
    sums = Counter({0: 1})
    for size in sizes:
        flipped: Counter[int] = Counter()
        for total, ways in sums.items():
            flipped[total + size] += ways
            flipped[total - size] += ways
        if len(flipped) > _EXACT_SUMS:
            return None
        sums = flipped
    return sums


def _flipped(sizes: Sequence[int], rng: random.Random) -> int:
    return sum(size if rng.random() < 0.5 else -size for size in sizes)
