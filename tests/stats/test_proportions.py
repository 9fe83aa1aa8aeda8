"""Shares of trials, against published tables and another implementation."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe import stats as stats

SAMPLES = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))

# Computed with statsmodels 0.15 (proportion_confint, "wilson").
WILSON = {
    (0, 1): (0.0, 0.7934506856227627),
    (0, 10): (0.0, 0.27753279986288926),
    (3, 10): (0.10779126740630104, 0.6032218525388546),
    (10, 10): (0.7224672001371106, 1.0),
    (81, 263): (0.2552885198782742, 0.36620957698280004),
    (999, 1000): (0.9943574414020421, 0.9998234536293739),
}

# Newcombe (1998), table II, method 10.
NEWCOMBE = {
    (56, 70, 48, 80): (0.0524, 0.3339),
    (9, 10, 3, 10): (0.1705, 0.8090),
    (6, 7, 2, 7): (0.0582, 0.8062),
    (5, 56, 0, 29): (-0.0381, 0.1926),
    (0, 10, 0, 20): (-0.1611, 0.2775),
    (0, 10, 0, 10): (-0.2775, 0.2775),
    (10, 10, 0, 20): (0.6791, 1.0),
    (10, 10, 0, 10): (0.6075, 1.0),
}


@pytest.mark.parametrize(("successes", "trials"), WILSON)
def test_wilson_is_that_of_statsmodels(successes: int, trials: int) -> None:
    interval = stats.wilson(successes, trials)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(WILSON[successes, trials], abs=1e-12)


def test_wilson_gives_the_published_figures_of_newcombe() -> None:
    """Newcombe (1998), table I, method 3: 81 of 263 is 0.2553 to 0.3662."""
    interval = stats.wilson(81, 263)
    assert interval is not None
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


@given(SAMPLES)
def test_wilson_holds_the_share_and_stays_within_bounds(case: tuple[int, int]) -> None:
    successes, trials = case
    interval = stats.wilson(successes, trials)
    assert interval is not None
    assert 0 <= interval.low <= successes / trials <= interval.high <= 1


@pytest.mark.parametrize(("successes", "trials"), [(0, 300), (0, 1), (3, 50), (49, 50)])
def test_the_exact_upper_bound(successes: int, trials: int) -> None:
    """At the bound, so few successes or fewer have a chance of 5 %."""
    bound = stats.at_most(successes, trials)
    assert bound is not None
    fewer = sum(math.comb(trials, k) * bound**k * (1 - bound) ** (trials - k) for k in range(successes + 1))
    assert fewer == pytest.approx(0.05, abs=1e-6)


def test_all_successes_bound_nothing() -> None:
    assert (stats.at_most(7, 7), stats.at_most(0, 0)) == (1.0, None)


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


def test_clusters_of_one_share_count_once_each_whatever_rounding_does() -> None:
    """One of 49 trials: 1 / 49 * 49 isn't 1 in floating point, which must not look like a spread."""
    clusters = [[True] + [False] * 48] * 3
    assert stats.clustered(clusters) == stats.wilson(3 / 49, 3)


def newcombe(
    passed1: int, trials1: int, passed2: int, trials2: int, confidence: float = 0.95
) -> stats.Interval:
    """Of counts, with Wilson's interval of each side."""
    first, second = stats.wilson(passed1, trials1, confidence), stats.wilson(passed2, trials2, confidence)
    assert first is not None
    assert second is not None
    return stats.newcombe(passed1 / trials1, first, passed2 / trials2, second)


@pytest.mark.parametrize("case", NEWCOMBE)
def test_newcombe_gives_the_published_figures(case: tuple[int, int, int, int]) -> None:
    interval = newcombe(*case)
    assert (interval.low, interval.high) == pytest.approx(NEWCOMBE[case], abs=1e-4)


@given(SAMPLES, SAMPLES)
def test_newcombe_holds_the_difference_and_turns_round_with_the_sides(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    interval, turned = newcombe(*first, *second), newcombe(*second, *first)
    assert -1 <= interval.low <= first[0] / first[1] - second[0] / second[1] <= interval.high <= 1
    assert (turned.low, turned.high) == pytest.approx((-interval.high, -interval.low))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("passed", range(6))
def test_pass_at_k_and_pass_hat_k_count_the_subsets(passed: int, k: int) -> None:
    outcomes = [True] * passed + [False] * (5 - passed)
    subsets = list(itertools.combinations(outcomes, k))
    assert stats.pass_at_k(5, passed, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
    assert stats.pass_hat_k(5, passed, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


def test_binary_rates_of_a_screening_test() -> None:
    """Altman & Bland (1994), BMJ 308, 1552: 344 liver scans, sensitivity 0.90, specificity 0.63."""
    counts = {(True, True): 231, (True, False): 27, (False, True): 32, (False, False): 54}
    rates = stats.binary_rates(pair for pair, count in counts.items() for _ in range(count))
    assert (rates.tp, rates.fn, rates.fp, rates.tn) == (231, 27, 32, 54)
    assert rates.sensitivity == pytest.approx(0.90, abs=5e-3)
    assert rates.specificity == pytest.approx(0.63, abs=5e-3)
    assert rates.accuracy == pytest.approx(285 / 344)


def test_binary_rates_of_one_kind_of_case_say_nothing_of_the_other() -> None:
    only_true, only_false = stats.binary_rates([(True, False)]), stats.binary_rates([(False, False)])
    assert (only_true.sensitivity, only_true.specificity, only_true.accuracy) == (0.0, None, 0.0)
    assert (only_false.sensitivity, only_false.specificity, only_false.accuracy) == (None, 1.0, 1.0)


def test_binary_rates_of_nothing_are_unknown() -> None:
    rates = stats.binary_rates([])
    assert (rates.accuracy, rates.sensitivity, rates.specificity) == (None, None, None)
