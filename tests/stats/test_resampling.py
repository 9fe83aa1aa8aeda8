"""Bootstraps and sign flips: what they agree with, and what they make of too little."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.stats import bootstrap, sign_flip_p, spearman

# Differences of rates of up to four trials.
RATES = st.sampled_from([Fraction(passed, trials) for trials in range(1, 5) for passed in range(trials + 1)])
DIFFERENCES = st.lists(
    st.builds(lambda first, second: float(first) - float(second), RATES, RATES), max_size=8
)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def test_the_bootstrap_of_a_mean_is_about_that_of_the_normal_distribution() -> None:
    """Of 0, 1, ... 99: mean 49.5, standard error 2.887, so 43.8 to 55.2."""
    interval = bootstrap(range(100), mean)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((43.8, 55.2), abs=0.5)


def test_more_confidence_is_a_wider_interval() -> None:
    wide, narrow = bootstrap(range(20), mean, confidence=0.99), bootstrap(range(20), mean, confidence=0.5)
    assert wide is not None
    assert narrow is not None
    assert wide.low < narrow.low < narrow.high < wide.high


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    assert bootstrap(range(30), mean, resamples=99) == bootstrap(range(30), mean, resamples=99)
    assert bootstrap(range(30), mean, resamples=99) != bootstrap(range(30), mean, resamples=99, seed=1)


def test_whole_scenarios_are_drawn_so_that_targets_stay_paired() -> None:
    """Four targets' passes in each scenario, by two judges who agree on all but two of 26 scenarios."""
    alike = ((1, 0, 0, 0), (1, 0, 0, 0)), ((1, 1, 0, 0), (1, 1, 0, 0)), ((1, 1, 1, 0), (1, 1, 1, 0))
    scenarios = [*alike * 8, *[((1, 0, 1, 0), (0, 1, 0, 1))] * 2]

    def correlation(drawn: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> float | None:
        first, second = (
            [sum(column) for column in zip(*side, strict=True)] for side in zip(*drawn, strict=True)
        )
        return spearman(first, second)

    interval = bootstrap(scenarios, correlation, resamples=500)
    assert interval is not None
    assert 0 < interval.low < interval.high == 1


@pytest.mark.parametrize("clusters", [[], [1.0], [1.0, 1.0, 1.0], [0.1] * 7])
def test_too_few_clusters_or_clusters_all_alike_have_no_interval(clusters: list[float]) -> None:
    assert bootstrap(clusters, mean) is None


def test_each_draw_has_as_many_clusters_of_each_stratum() -> None:
    drawn: list[str] = []

    def kept(letters: Sequence[str]) -> float:
        drawn.append("".join(sorted(map(str.upper, letters))))
        return letters.count("a")

    assert bootstrap("aAbBB", kept, resamples=50, stratum=str.upper) is not None
    assert set(drawn) == {"AABBB"}


def test_a_stratum_of_one_cluster_has_no_interval() -> None:
    assert bootstrap([1.0, 2.0, 3.0], mean, stratum=lambda value: value > 1) is None


def test_a_statistic_that_is_mostly_undefined_has_no_interval() -> None:
    """The draws with all four of four values are 3 in 32."""
    assert bootstrap([1, 2, 3, 4], lambda drawn: mean(drawn) if len(set(drawn)) == 4 else None) is None


@pytest.mark.parametrize("undefined", [None, math.nan, math.inf])
def test_draws_without_a_value_are_left_out(undefined: float | None) -> None:
    interval = bootstrap(range(9), lambda drawn: undefined if drawn[0] == 0 else mean(drawn))
    assert interval is not None
    assert 0 < interval.low < 4 < interval.high < 8


@given(st.lists(st.floats(-1, 1), max_size=8), st.integers(0, 5), st.integers(0, 40))
def test_a_bootstrap_interval_stays_within_the_data(values: list[float], seed: int, resamples: int) -> None:
    interval = bootstrap(values, mean, seed=seed, resamples=resamples)
    if interval is not None:
        assert min(values) - 1e-9 <= interval.low < interval.high <= max(values) + 1e-9


@given(DIFFERENCES)
def test_the_sign_flip_test_counts_every_flip(differences: list[float]) -> None:
    observed = abs(sum(differences)) - 1e-9
    flips = list(itertools.product((-1, 1), repeat=len(differences)))
    hits = sum(abs(sum(map(float.__mul__, map(float, signs), differences))) >= observed for signs in flips)
    assert sign_flip_p(differences) == pytest.approx(hits / len(flips))


def test_many_pairs_of_few_trials_are_still_counted_exactly() -> None:
    """A hundred pairs that all differ one way: two of the 2**100 flips are as far out."""
    assert sign_flip_p([1 / 3] * 100) == pytest.approx(2 / 2**100)


def test_many_pairs_of_many_different_rates_are_counted_exactly_too() -> None:
    random = Random(5)
    twelfths = [random.randint(-10, 12) for _ in range(90)]
    ways = {0: 1}
    for size in twelfths:
        flipped: dict[int, int] = {}
        for total, count in ways.items():
            flipped[total + size] = flipped.get(total + size, 0) + count
            flipped[total - size] = flipped.get(total - size, 0) + count
        ways = flipped
    far = sum(count for total, count in ways.items() if abs(total) >= abs(sum(twelfths)))
    assert sign_flip_p([size / 12 for size in twelfths], resamples=1) == pytest.approx(far / 2**90)


def test_darwins_plants() -> None:
    """Fisher (1935), section 21: 863 of the 2**15 flips go as far one way as Darwin's 15 pairs."""
    eighths = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert sign_flip_p([height / 8 for height in eighths]) == pytest.approx(2 * 863 / 2**15)


def scattered(count: int, middle: float) -> list[float]:
    """Differences whose flips have too many sums to count them all."""
    random = Random(3)
    return [middle + random.random() - 0.5 for _ in range(count)]


def test_too_many_sums_are_drawn_at_random_near_the_p_value_of_a_t_test() -> None:
    """Computed with scipy 1.17 (ttest_1samp)."""
    assert sign_flip_p(scattered(60, -0.02)) == pytest.approx(0.173134, abs=0.01)


def test_drawn_flips_never_find_a_p_value_of_zero() -> None:
    assert sign_flip_p(scattered(60, 5.0), resamples=999) == 1 / 1000


@given(st.lists(st.floats(-1, 1), max_size=30), st.randoms())
def test_a_p_value_depends_neither_on_the_order_nor_on_which_side_is_first(
    differences: list[float], random: Random
) -> None:
    p = sign_flip_p(differences, resamples=20)
    assert 0 < p <= 1
    assert sign_flip_p([-difference for difference in differences], resamples=20) == p
    assert sign_flip_p(random.sample(differences, len(differences)), resamples=20) == p


@pytest.mark.parametrize("differences", [[], [0.0], [0.5], [0.5, -0.5], [0.1 + 0.2 - 0.3]])
def test_no_difference_to_speak_of_has_a_p_value_of_one(differences: list[float]) -> None:
    assert sign_flip_p(differences) == 1.0


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_difference_that_is_no_number_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="has to be a finite number"):
        sign_flip_p([0.1, wrong])
