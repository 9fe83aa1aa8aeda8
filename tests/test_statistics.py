"""The formulas against scipy, statsmodels and published tables."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe import statistics as stats

scipy_stats = pytest.importorskip("scipy.stats")
proportion = pytest.importorskip("statsmodels.stats.proportion")
inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
contingency = pytest.importorskip("statsmodels.stats.contingency_tables")

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


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 1), (0, 10), (3, 10), (10, 10), (81, 263), (999, 1000)]
)
def test_wilson_is_that_of_statsmodels(successes: int, trials: int) -> None:
    low, high = proportion.proportion_confint(successes, trials, method="wilson")
    interval = stats.wilson(successes, trials)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


def test_wilson_gives_the_published_figures_of_newcombe() -> None:
    """Newcombe (1998), table I, method 3: 81 of 263 is 0.2553 to 0.3662."""
    interval = stats.wilson(81, 263)
    assert interval is not None
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_stays_within_bounds(case: tuple[int, int]) -> None:
    successes, trials = case
    interval = stats.wilson(successes, trials)
    assert interval is not None
    assert 0 <= interval.low <= successes / trials <= interval.high <= 1


def test_nothing_is_said_without_trials() -> None:
    assert stats.wilson(0, 0) is None
    assert stats.clustered([[], []]) is None
    assert stats.pass_at_k(0, 0, 1) is None
    assert stats.pass_hat_k(3, 3, 4) is None


def test_clusters_of_one_are_wider_than_wilson_only_by_students_t() -> None:
    trials = [[True], [True], [False], [True], [False], [True]] * 20
    clustered, plain = stats.clustered(trials), stats.wilson(80, 120)
    assert clustered is not None
    assert plain is not None
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), abs=2e-3)


def test_trials_that_always_agree_within_a_scenario_count_once_each() -> None:
    """Ten trials of each of eight scenarios, all alike within: as much as eight trials, not eighty."""
    clusters = [[passed] * 10 for passed in (True, True, False, True, False, True, True, False)]
    interval, eight = stats.clustered(clusters), stats.wilson(5, 8)
    assert interval is not None
    assert eight is not None
    assert interval.high - interval.low >= (eight.high - eight.low) * 0.99


def test_all_passed_is_no_certainty() -> None:
    interval, four = stats.clustered([[True] * 50] * 4), stats.wilson(4, 4)
    assert interval == four


@given(st.lists(st.lists(st.booleans(), max_size=6), max_size=12))
def test_a_clustered_interval_holds_the_share(clusters: list[list[bool]]) -> None:
    interval = stats.clustered(clusters)
    flat = list(itertools.chain.from_iterable(clusters))
    assert (interval is None) == (not flat)
    if interval is not None:
        assert 0 <= interval.low <= sum(flat) / len(flat) + 1e-9
        assert sum(flat) / len(flat) - 1e-9 <= interval.high <= 1


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("passed", range(6))
def test_pass_at_k_and_pass_hat_k_count_the_subsets(passed: int, k: int) -> None:
    outcomes = [True] * passed + [False] * (5 - passed)
    subsets = list(itertools.combinations(outcomes, k))
    assert stats.pass_at_k(5, passed, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
    assert stats.pass_hat_k(5, passed, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (0, 5), (3, 9), (10, 10), (2, 30)])
def test_mcnemar_is_that_of_statsmodels(b: int, c: int) -> None:
    expected = contingency.mcnemar([[10, b], [c, 10]], exact=True).pvalue if b + c else 1.0
    assert stats.mcnemar_exact(b, c) == pytest.approx(expected)


def test_fleiss_kappa_of_the_published_table() -> None:
    kappa = stats.fleiss_kappa(FLEISS)
    assert kappa == pytest.approx(0.210, abs=5e-4)
    assert kappa == pytest.approx(inter_rater.fleiss_kappa(FLEISS))


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


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 30, 1000, 100_000])
@pytest.mark.parametrize("level", [0.9, 0.975, 0.995])
def test_students_t_is_that_of_scipy(level: float, degrees: float) -> None:
    assert stats.student_t(level, degrees) == pytest.approx(scipy_stats.t.ppf(level, degrees), rel=1e-8)


@given(st.lists(st.lists(st.sampled_from(["a", "b"]), min_size=3, max_size=3), min_size=1, max_size=8))
def test_agreement_is_never_above_one(units: list[list[str]]) -> None:
    alpha = stats.krippendorff_alpha(units)
    kappa = stats.fleiss_kappa([[unit.count("a"), unit.count("b")] for unit in units])
    assert alpha is None or alpha <= 1 + 1e-12
    assert kappa is None or kappa <= 1 + 1e-12
    assert (alpha is None) == (kappa is None)
    assert alpha is None or math.isfinite(alpha)


DIFFERENCES = st.lists(st.floats(-1, 1), min_size=2, max_size=30)


@given(DIFFERENCES.filter(lambda found: max(found) - min(found) > 1e-3))
def test_mean_difference_is_the_interval_of_a_paired_t_test(differences: list[float]) -> None:
    found = stats.mean_difference(differences)
    expected = scipy_stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


@pytest.mark.parametrize("differences", [[], [0.5], [0.0, 0.0, 0.0]])
def test_mean_difference_without_a_spread_is_unknown(differences: list[float]) -> None:
    assert stats.mean_difference(differences) is None
