"""Shares and gaps by cluster: their intervals, what they say of a limit, and what would decide."""

from __future__ import annotations

import pytest

from pytest_convoprobe.stats import (
    GapEstimate,
    Interval,
    ShareEstimate,
    clustered,
    clusters_to_decide,
    mid_p,
    side_of,
)


def share(*counts: tuple[int, int]) -> ShareEstimate:
    found = ShareEstimate.of(counts)
    assert found is not None
    return found


def gap(*pairs: tuple[float, float]) -> GapEstimate:
    found = GapEstimate.of(pairs)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("passed", "trials", "ends"),
    [
        (0, 10, (0.0, 0.2589)),  # 1 - 0.05**(1/10)
        (10, 10, (0.7411, 1.0)),
        (4, 10, (0.1423, 0.7089)),
        (17, 20, (0.6439, 0.9604)),
    ],
)
def test_mid_p(passed: int, trials: int, ends: tuple[float, float]) -> None:
    """Each end is where the chance of fewer and half of as many is 2.5 %; computed with scipy (binom)."""
    found = mid_p(passed, trials)
    assert found is not None
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-4)


def test_mid_p_of_nothing_is_unknown() -> None:
    assert mid_p(0, 0) is None


def test_clusters_of_one_trial_are_almost_independent_trials() -> None:
    found, plain = share(*[(1, 1)] * 90, *[(0, 1)] * 10).interval(0.95), mid_p(90, 100)
    assert plain is not None
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-3)


def test_trials_that_agree_within_their_cluster_count_once() -> None:
    ten, one = share(*[(10, 10)] * 15, *[(0, 10)] * 5), share(*[(1, 1)] * 15, *[(0, 1)] * 5)
    assert ten.interval(0.95).low == pytest.approx(one.interval(0.95).low, abs=0.02)
    assert clustered([[True] * 10] * 4) == ShareEstimate(1.0, 4, 10).wilson(0.95)


def test_a_gap_of_clusters_that_all_differ_alike_has_a_width() -> None:
    """Six pairs that all differ in one direction; mid-P of 6 of 6 is from 60.7 %, of 0 of 6 up to 39.3 %."""
    found = gap(*[(1, 0)] * 6).interval(0.95)
    assert (found.low, found.high) == pytest.approx((1 - 0.393 * 2**0.5, 1.0), abs=1e-3)


@pytest.mark.parametrize("hard", [0, 1, 2, 10])
def test_pairs_that_are_all_equal_show_no_gap_only_where_there_are_many(hard: int) -> None:
    """However many fail on both sides: none of 20 differs, so up to 13.9 % may (1 - 0.05**(1/20))."""
    found = gap(*[(1, 1)] * (20 - hard), *[(0, 0)] * hard)
    ends = found.interval(0.95)
    assert (ends.low, ends.high) == pytest.approx((-0.1391, 0.1391), abs=1e-4)
    assert found.power(0.1, 0.95) < 0.5
    assert clusters_to_decide(found, Interval(-0.1, 0.1), 0.95) == 29


def test_a_gap_turns_round_with_its_sides_and_of_one_cluster_is_unknown() -> None:
    pairs = [(1.0, 0.5), (0.5, 0.5), (1.0, 0.0), (0.0, 0.5)]
    one, other = gap(*pairs).interval(0.95), gap(*[(b, a) for a, b in pairs]).interval(0.95)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert gap((1, 0)).interval(0.95) == Interval(-1.0, 1.0)


@pytest.mark.parametrize(("pairs", "wider_than"), [(2, 0.5), (6, 0.39), (12, 0.2), (40, 0.05)])
def test_a_gap_of_clusters_that_all_agree_has_a_width_that_few_clusters_can_show(
    pairs: int, wider_than: float
) -> None:
    """By the rule of three, n clusters without a difference leave a share of about 3 / n open."""
    found = gap(*[(1, 1), (0, 0)] * (pairs // 2)).interval(0.95)
    assert found.low == pytest.approx(-found.high)
    assert wider_than < found.high < max(0.75, 4 / pairs)


def test_pairs_that_go_together_have_a_narrower_gap() -> None:
    together = [(1, 1)] * 10 + [(0, 0)] * 10
    apart = [(1, 1), (0, 0), (1, 0), (0, 1)] * 5
    widths = [one.high - one.low for one in (gap(*together).interval(0.95), gap(*apart).interval(0.95))]
    assert widths[0] < widths[1] / 2


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [(0.91, 0.99, True), (0.9, 1.0, True), (0.5, 0.89, False), (0.89, 0.99, None)],
)
def test_an_interval_is_within_or_beyond_a_limit_or_neither(
    low: float, high: float, side: bool | None
) -> None:
    assert side_of(Interval(low, high), Interval(0.9, 1.0)) is side


def test_what_would_decide_does() -> None:
    """All of four pass: 29 that all pass would be enough for 0.9. Others stay at the limit for ever."""
    allowed = Interval(0.9, 1.0)
    assert clusters_to_decide(share(*[(1, 1)] * 4), allowed, 0.95) == 29
    some = share(*[(1, 1)] * 17, *[(0, 1)] * 3)
    needed = clusters_to_decide(some, allowed, 0.95)
    assert needed is not None
    assert side_of(some.of_size(needed).interval(0.95), allowed) is False
    assert side_of(some.of_size(needed * 9 // 10).interval(0.95), allowed) is None
    assert clusters_to_decide(share(*[(1, 1)] * 9, (0, 1)), allowed, 0.95) is None


def test_the_power_below_a_limit_is_the_chance_of_the_counts_that_are_red() -> None:
    """Of 20 that don't vary within themselves, 14 or fewer are red at 0.9; at 0.8 that is a fifth of runs."""
    twenty = ShareEstimate(1.0, 20)
    assert [side_of(mid_p(n, 20) or Interval(0, 1), Interval(0.9, 1)) for n in (14, 15)] == [False, None]
    assert twenty.power_below(0.9, 0.8, 0.95) == pytest.approx(0.1958, abs=1e-3)
    assert twenty.power_below(0.9, 0.0, 0.95) == 1.0
    assert ShareEstimate(1.0, 1).power_below(0.5, 0.0, 0.95) == 0.0
