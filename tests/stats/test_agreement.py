"""Agreement of raters, against published tables and another implementation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe import stats as stats

# Fleiss (1971), table 1, as reprinted in many textbooks: 10 subjects, 14 raters, 5 categories; kappa 0.210.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]

# Krippendorff (2011), part C: 4 observers, 12 units, 5 values, missing data; nominal alpha 0.743.
KRIPPENDORFF = [
    [1, 1, None, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, None, 3, None],
]

# Kappa of tables with a row a rating of the first rater. Computed with
# statsmodels 0.15 (cohens_kappa); an end beyond -1 was cut.
COHEN = [
    ([[88, 10, 2], [14, 40, 6], [18, 10, 12]], 0.49152542372881347),
    ([[20, 5], [10, 15]], 0.4),
    ([[1, 0, 4], [0, 7, 0], [2, 2, 9]], 0.470899470899471),
    ([[0, 8], [9, 1]], -0.8888888888888888),
]

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=20)
UNITS = st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=5), max_size=10)


def in_pairs(table: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]


def test_fleiss_kappa_of_the_published_table() -> None:
    assert stats.fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_kappa_says_nothing_where_chance_agrees_too() -> None:
    assert stats.fleiss_kappa([[3, 0], [3, 0]]) is None
    assert stats.fleiss_kappa([]) is None
    with pytest.raises(ValueError, match="same number of ratings"):
        stats.fleiss_kappa([[3, 0], [2, 0]])


def test_krippendorffs_alpha_of_the_published_table() -> None:
    assert stats.krippendorff_alpha(KRIPPENDORFF) == pytest.approx(0.743, abs=5e-4)


def test_krippendorffs_alpha_says_nothing_without_disagreement_or_pairs() -> None:
    assert stats.krippendorff_alpha([["a", None], [None, "b"]]) is None
    assert stats.krippendorff_alpha([["a", "a"], ["a", "a"]]) is None


@given(st.lists(st.lists(st.sampled_from(["a", "b"]), min_size=3, max_size=3), min_size=1, max_size=8))
def test_agreement_is_never_above_one(units: list[list[str]]) -> None:
    alpha = stats.krippendorff_alpha(units)
    kappa = stats.fleiss_kappa([[unit.count("a"), unit.count("b")] for unit in units])
    assert alpha is None or alpha <= 1 + 1e-12
    assert kappa is None or kappa <= 1 + 1e-12
    assert (alpha is None) == (kappa is None)
    assert alpha is None or math.isfinite(alpha)


@pytest.mark.parametrize(("table", "kappa"), COHEN)
def test_cohens_kappa_is_that_of_statsmodels(table: list[list[int]], kappa: float) -> None:
    assert stats.cohen_kappa(in_pairs(table)) == pytest.approx(kappa)


def test_cohens_kappa_leaves_out_pairs_with_a_missing_rating() -> None:
    pairs = [("a", "a"), ("b", "a"), ("b", "b")]
    assert stats.cohen_kappa([*pairs, (None, "a"), ("b", None), (None, None)]) == stats.cohen_kappa(pairs)


@pytest.mark.parametrize("pairs", [[], [("a", "a")], [("a", "a")] * 9, [(None, "a")]])
def test_cohens_kappa_says_nothing_where_chance_agrees_too(pairs: list[tuple[str | None, str]]) -> None:
    assert stats.cohen_kappa(pairs) is None


def test_full_agreement_has_a_kappa_of_one() -> None:
    pairs = [("a", "a"), ("b", "b"), ("c", "c")] * 7
    assert stats.cohen_kappa(pairs) == 1.0


def test_pairs_that_go_together_tell_less_than_as_many_apart() -> None:
    """Ten clusters of twenty pairs that are all alike know as much as ten pairs, not as two hundred."""
    seen = [(True, True)] * 5 + [(False, False)] * 3 + [(True, False)] * 2
    together = stats.clustered_kappa_interval([pair] * 20 for pair in seen)
    apart = stats.clustered_kappa_interval([pair] for pair in seen * 20)
    few = stats.clustered_kappa_interval([pair] for pair in seen)
    assert together is not None
    assert together == few
    assert apart is not None
    assert together.high - together.low > 3 * (apart.high - apart.low)


@pytest.mark.parametrize("clusters", [[], [[(1, 1), (0, 1)]], [[(1, 1)], [(0, 0)]], [[(1, 1)], [(None, 0)]]])
def test_clusters_that_tell_no_spread_have_no_interval(clusters: list[list[tuple[int, int]]]) -> None:
    """None at all, one, some that all agree, one with ratings."""
    assert stats.clustered_kappa_interval(clusters) is None


@given(st.lists(PAIRS, min_size=1, max_size=5))
def test_the_interval_of_clusters_is_about_kappa(clusters: list[list[tuple[str, str]]]) -> None:
    interval = stats.clustered_kappa_interval(clusters, resamples=50)
    if interval is not None:
        assert -1 <= interval.low < interval.high <= 1


@given(PAIRS)
def test_cohens_kappa_is_the_same_whoever_is_called_first(pairs: list[tuple[str, str]]) -> None:
    turned = [(second, first) for first, second in pairs]
    assert stats.cohen_kappa(turned) == stats.cohen_kappa(pairs)


def test_the_unanimous_share_is_of_units_rated_twice() -> None:
    assert stats.unanimous_share([["a", "a"], ["a", None, "b"], ["b"], ["b", None], []]) == 1 / 2
    assert stats.unanimous_share([["a"], [None, None], []]) is None


def test_majority_agreement_counts_the_ratings_of_units_with_a_majority() -> None:
    """Three of four and two of two; a tie and a unit with one rating are left out."""
    units = [["a", "a", "b", "a"], ["b", "b", None], ["a", "b"], ["a"]]
    assert stats.majority_agreement(units) == 5 / 6


def test_false_may_be_a_majority() -> None:
    assert stats.majority_agreement([[False, False, True, None]]) == 2 / 3


def test_majority_agreement_says_nothing_without_a_majority() -> None:
    assert stats.majority_agreement([["a", "b"], list("aabb"), ["a"], [None]]) is None
    assert stats.majority_agreement([]) is None


@given(UNITS, st.randoms())
def test_agreement_depends_on_no_order(units: list[list[str | None]], random: Random) -> None:
    shuffled = [random.sample(unit, len(unit)) for unit in random.sample(units, len(units))]
    assert stats.unanimous_share(shuffled) == stats.unanimous_share(units)
    assert stats.majority_agreement(shuffled) == stats.majority_agreement(units)


@given(UNITS)
def test_majorities_hold_at_least_the_unanimous_units(units: list[list[str | None]]) -> None:
    share = stats.majority_agreement(units)
    assert share is None or 0 < share <= 1
    assert (stats.unanimous_share(units) == 1) <= (share == 1)
