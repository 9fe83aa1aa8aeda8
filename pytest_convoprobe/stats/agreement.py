"""How far raters agree. A rating is any hashable value; None is a missing one, and NaN is an error."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import TypeVar

from .checks import require_counts, require_ratings
from .distributions import Interval
from .resampling import bootstrap

Rating = TypeVar("Rating", bound=Hashable)
Pair = tuple[Hashable, Hashable]


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Agreement beyond chance; one row a subject, one column a category, each row of one sum.

    None with fewer than two ratings a subject, and where all ratings fall into one category
    (chance alone would agree, so nothing can be said). Raises ValueError for rows of unequal sums, and for
    counts that cannot be.
    """
    require_counts(chain.from_iterable(counts), "a number of ratings")
    if not counts or sum(counts[0]) < 2:
        return None
    raters = sum(counts[0])
    if any(sum(row) != raters for row in counts):
        raise ValueError("every subject needs the same number of ratings")
    shares = [sum(column) / (len(counts) * raters) for column in zip(*counts, strict=True)]
    by_chance = sum(share**2 for share in shares)
    agreed = sum(sum(n * (n - 1) for n in row) for row in counts) / (len(counts) * raters * (raters - 1))
    return None if math.isclose(by_chance, 1) else (agreed - by_chance) / (1 - by_chance)


def krippendorff_alpha(units: Iterable[Sequence[Hashable | None]]) -> float | None:
    """Agreement of nominal ratings, any number a unit; None in a unit is a missing rating.

    None where no unit has two ratings, or all ratings are the same.
    """
    paired = _rated_twice(units)
    totals = Counter(rating for rated in paired for rating in rated)
    number = totals.total()
    expected = number**2 - sum(n * n for n in totals.values())
    if not expected:
        return None
    observed = sum(_disagreement(rated) for rated in paired)
    return 1 - (number - 1) * observed / expected


def _disagreement(rated: Sequence[Hashable]) -> float:
    """Ordered pairs of unequal ratings in a unit, each weighted by 1 / (ratings - 1)."""
    same = sum(n * n for n in Counter(rated).values())
    return (len(rated) ** 2 - same) / (len(rated) - 1)


def cohen_kappa(pairs: Iterable[Pair]) -> float | None:
    """Agreement beyond chance of two raters, one pair of ratings a subject.

    A pair with a None is left out. None without pairs, and where both raters only ever gave one and the same
    rating (chance alone would agree, so nothing can be said).
    """
    table = _cross_table(pairs)
    cells = _cells([table])
    return _kappa([table[cell] for cell in cells])


def clustered_kappa_interval(
    clusters: Iterable[Iterable[Pair]], confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval | None:
    """The interval of `cohen_kappa` where pairs of one cluster resemble each other: a bootstrap of clusters.

    None where `bootstrap` has none: for one cluster, and where all pairs agree.
    """
    tables = [table for pairs in clusters if (table := _cross_table(pairs))]
    cells = _cells(tables)
    counts = [[table[cell] for cell in cells] for table in tables]

    def kappa(drawn: Sequence[Sequence[int]]) -> float | None:
        return _kappa([sum(column) for column in zip(*drawn, strict=True)])

    return bootstrap(counts, kappa, confidence, resamples, seed)


def _cells(tables: Iterable[Iterable[Pair]]) -> list[Pair]:
    """The cells of a square table with all ratings that there are, row by row."""
    ratings = dict.fromkeys(rating for table in tables for pair in table for rating in pair)
    return [(first, second) for first in ratings for second in ratings]


def _kappa(cells: Sequence[int]) -> float | None:
    """Of the counts in a square table, row by row; in whole numbers, or certain agreement would be missed."""
    ratings = math.isqrt(len(cells))
    pairs, agreed = sum(cells), sum(cells[:: ratings + 1])
    by_chance = sum(
        sum(cells[n * ratings : (n + 1) * ratings]) * sum(cells[n::ratings]) for n in range(ratings)
    )
    return None if by_chance == pairs**2 else (pairs * agreed - by_chance) / (pairs**2 - by_chance)


def _cross_table(pairs: Iterable[Pair]) -> Counter[Pair]:
    known = [(first, second) for first, second in pairs if first is not None and second is not None]
    require_ratings(chain.from_iterable(known))
    return Counter(known)


def _majority(ratings: Iterable[Rating | None]) -> Rating | None:
    """The most frequent rating; None where two are equally frequent, or there is none."""
    top = Counter(rating for rating in ratings if rating is not None).most_common(2)
    if not top or (len(top) == 2 and top[0][1] == top[1][1]):
        return None
    return top[0][0]


def unanimous_share(units: Iterable[Sequence[Hashable | None]]) -> float | None:
    """The share of units whose ratings are all the same, of those with at least two; None without any."""
    alike = [len(set(rated)) == 1 for rated in _rated_twice(units)]
    return sum(alike) / len(alike) if alike else None


def majority_agreement(units: Iterable[Sequence[Hashable | None]]) -> float | None:
    """The share of single ratings that are their unit's majority, of units that have one.

    A unit with one rating is left out: it would always agree with itself. So would two that count only when
    they agree: with two raters, `unanimous_share` and `cohen_kappa` say more. None without any.
    """
    decided = [(top, rated) for rated in _rated_twice(units) if (top := _majority(rated)) is not None]
    ratings = sum(len(rated) for _, rated in decided)
    return sum(rated.count(top) for top, rated in decided) / ratings if ratings else None


def _rated_twice(units: Iterable[Sequence[Hashable | None]]) -> list[list[Hashable]]:
    """The known ratings of each unit that has at least two."""
    known = [rated for unit in units if len(rated := [r for r in unit if r is not None]) > 1]
    require_ratings(chain.from_iterable(known))
    return known
