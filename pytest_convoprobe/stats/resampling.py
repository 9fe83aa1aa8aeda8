"""Intervals and p-values from resampling the data. The same seed draws the same."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import chain
from typing import TypeVar

from .checks import require_counts, require_finite, require_level
from .distributions import Interval

T = TypeVar("T")

# Up to so many different sums, the sign flips are counted sum by sum: 12 differences never have more.
_EXACT_SUMS = 2**12
# Up to so many bits, they are counted in one long integer, which takes some hundredths of a second.
_EXACT_BITS = 2**22
# Enough for differences of rates of up to a hundred trials. Equal sums of fractions are equal; of floats, not
# always.
_LARGEST_DENOMINATOR = 10_000


def bootstrap(
    clusters: Sequence[T],
    statistic: Callable[[Sequence[T]], float | None],
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    stratum: Callable[[T], Hashable] | None = None,
) -> Interval | None:
    """The percentile interval of `statistic`, a function of clusters, when whole clusters are resampled.

    A cluster is what doesn't depend on the others: of the rank correlation of targets it is a scenario with
    all targets' trials, not a target. Clusters of different strata were drawn apart from one another, so each
    draw has as many of each `stratum`. Draws where the statistic is None (or not finite) are left out. None
    with fewer than two clusters of a stratum, where fewer than half of the draws have a value, and where both
    ends are the same. Raises ValueError for a confidence or a number of draws that cannot be.
    """
    require_level(confidence)
    require_counts((resamples,), "the number of draws")
    strata: defaultdict[Hashable, list[T]] = defaultdict(list)
    for cluster in clusters:
        strata[stratum(cluster) if stratum else None].append(cluster)
    if min(map(len, strata.values()), default=0) < 2:
        return None
    rng = random.Random(seed)  # noqa: S311 - to draw samples, not secrets
    drawn = (
        chain.from_iterable(rng.choices(part, k=len(part)) for part in strata.values())
        for _ in range(resamples)
    )
    draws = (statistic(list(one)) for one in drawn)
    found = sorted(value for value in draws if value is not None and math.isfinite(value))
    # An interval of the minority that has a value would describe other data than these.
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

    Exact for up to 12 differences that aren't zero, and for thousands where they are rates of a few trials.
    Else from `resamples` draws, counting the observed one with them. 1 without differences. Raises ValueError
    for a difference that isn't finite.
    """
    require_finite(differences, "a paired difference")
    require_counts((resamples,), "the number of draws")
    whole = _whole_numbers(differences)
    observed = abs(sum(whole))
    # In one order and with one sign: the draws depend neither on the order nor on which side is first.
    sizes = sorted(Counter(abs(value) for value in whole if value).items())
    far = _flips_as_far(sizes, observed)
    if far is not None:
        return far / (1 << sum(count for _, count in sizes))
    rng = random.Random(seed)  # noqa: S311 - to draw samples, not secrets
    hits = sum(abs(_flipped(sizes, rng)) >= observed for _ in range(resamples))
    # With the observed one: a p-value of 0 would claim more than the draws can show.
    return (hits + 1) / (resamples + 1)


def _whole_numbers(values: Sequence[float]) -> list[int]:
    """The values times whatever makes all of them whole, without a common divisor."""
    fractions = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in values]
    scale = math.lcm(*(fraction.denominator for fraction in fractions))
    whole = [int(fraction * scale) for fraction in fractions]
    divisor = math.gcd(*whole) or 1
    return [value // divisor for value in whole]


def _flips_as_far(sizes: Sequence[tuple[int, int]], observed: int) -> int | None:
    """How many ways to choose signs lead as far from 0 as `observed`; None where they are too many to count.

    `sizes` are differences without their sign, each with how often it is there.
    """
    if observed == 0:
        return 1 << sum(count for _, count in sizes)
    if math.prod(count + 1 for _, count in sizes) <= _EXACT_SUMS:
        return sum(ways for total, ways in _flipped_sums(sizes).items() if abs(total) >= observed)
    number, total = sum(count for _, count in sizes), sum(size * count for size, count in sizes)
    return _packed_flips_as_far(sizes, number, total, observed) if number * total <= _EXACT_BITS else None


def _flipped_sums(sizes: Sequence[tuple[int, int]]) -> Counter[int]:
    """How many ways of choosing signs lead to each sum."""
    sums = Counter({0: 1})
    for size, count in sizes:
        flipped: Counter[int] = Counter()
        for total, ways in sums.items():
            for plus in range(count + 1):
                flipped[total + size * (2 * plus - count)] += ways * math.comb(count, plus)
        sums = flipped
    return sums


def _packed_flips_as_far(sizes: Sequence[tuple[int, int]], number: int, total: int, observed: int) -> int:
    """The same count from one long integer: its digit k says how many choices put a plus before a sum of k.

    A digit has room for all 2**number choices, so that adding shifted copies never carries.
    """
    digit = number + 1
    ways = 1
    for size, count in sizes:
        for _ in range(count):
            ways += ways << (size * digit)
    upper = ways >> ((total + observed) // 2 * digit)
    # A number is congruent to the sum of its digits, modulo the base less one. Both tails are alike.
    return 2 * (upper % ((1 << digit) - 1))


def _flipped(sizes: Sequence[tuple[int, int]], rng: random.Random) -> int:
    return sum(size * (2 * rng.getrandbits(count).bit_count() - count) for size, count in sizes)
