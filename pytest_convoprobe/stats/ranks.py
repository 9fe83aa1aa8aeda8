"""Whether two orders of the same things are alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from .checks import require_order


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The correlation of ranks, ties by their mean rank, from -1 to 1.

    None with fewer than two values, and where one side has only ties. Raises ValueError for sides of
    unequal length, and for NaN.
    """
    _check_sides(x, y)
    if not (_has_order(x) and _has_order(y)):
        return None
    ranks_x, ranks_y = _double_ranks(x), _double_ranks(y)
    covariance = _covariance(ranks_x, ranks_y)
    # One root of a whole number: of two, the product could be a little more than it is.
    spread = math.sqrt(_covariance(ranks_x, ranks_x) * _covariance(ranks_y, ranks_y))
    return covariance / spread


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pairs in the same order less those in opposite order, corrected for ties, from -1 to 1.

    None with fewer than two values, and where one side has only ties. Raises ValueError for sides of
    unequal length, and for NaN. The time grows with the square of the number of values.
    """
    _check_sides(x, y)
    if not (_has_order(x) and _has_order(y)):
        return None
    signs = [
        ((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in combinations(zip(x, y, strict=True), 2)
    ]
    untied_x, untied_y = sum(abs(one) for one, _ in signs), sum(abs(other) for _, other in signs)
    concordance = sum(one * other for one, other in signs)
    return concordance / math.sqrt(untied_x * untied_y)


def _check_sides(x: Sequence[float], y: Sequence[float]) -> None:
    if len(x) != len(y):
        raise ValueError(f"a rank correlation needs as many values on either side, not {len(x)} and {len(y)}")
    require_order((*x, *y), "a value")


def _has_order(values: Sequence[float]) -> bool:
    return len(set(values)) > 1


def _double_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, so that the mean rank of a tie is a whole number too."""
    ordered = sorted(values)
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for place, value in enumerate(ordered, 1):
        first.setdefault(value, place)
        last[value] = place
    return [first[value] + last[value] for value in values]


def _covariance(x: Sequence[int], y: Sequence[int]) -> int:
    """The covariance times the square of the number of values: a whole number."""
    return len(x) * sum(a * b for a, b in zip(x, y, strict=True)) - sum(x) * sum(y)
