"""The e-value, by adding up all pasts and all courses of conversations."""

from __future__ import annotations

from functools import cache
from math import comb, exp

import pytest

from pytest_convoprobe.gate.e_value import DISCOUNT, e_value, log_predicted, ratio
from pytest_convoprobe.gate.policies import LEAST_PAST, Paired
from pytest_convoprobe.gate.prior import Prior
from pytest_convoprobe.gate.types import Past, Word

RATES = [0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]


def _chance(failed: int, talks: int, rate: float) -> float:
    return comb(talks, failed) * rate**failed * (1 - rate) ** (talks - failed)


def _paired(past: Past, **more: float) -> Paired:
    return Paired(past, Prior(0.1, 1.9), **{"scenarios": 20, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("past", [Past(0, 8), Past(3, 20), Past(10, 20), Past(0, 50)])
@pytest.mark.parametrize("talks", range(1, 9))
def test_the_ratio_is_one_on_average_over_the_rates_that_the_past_leaves(past: Past, talks: int) -> None:
    known = past.failed + 0.5, past.talks - past.failed + 0.5
    total = sum(
        comb(talks, failed) * exp(log_predicted(failed, talks, *known)) * ratio(failed, talks, past)
        for failed in range(talks + 1)
    )
    assert total == pytest.approx(1)


@pytest.mark.parametrize("before", [LEAST_PAST, 20, 50])
@pytest.mark.parametrize("rate", RATES)
def test_it_is_at_most_one_on_average_for_every_rate(before: int, rate: float) -> None:
    for talks in range(9):
        assert _average(before, rate, talks) <= 1


def _average(before: int, rate: float, talks: int) -> float:
    return sum(
        _chance(past, before, rate)
        * _chance(failed, talks, rate)
        * e_value(failed, talks, Past(past, before))
        for past in range(before + 1)
        for failed in range(talks + 1)
    )


def test_for_some_rates_the_ratio_without_the_discount_is_above_one() -> None:
    assert _average(LEAST_PAST, 0.4, 8) * DISCOUNT > 1.3


@pytest.mark.parametrize("before", [LEAST_PAST, 20])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.4])
def test_nobody_gains_by_choosing_when_to_stop(before: int, rate: float) -> None:
    pasts = range(before // 2 + 1)
    gating = sum(_chance(past, before, rate) * _best_stop(Past(past, before), rate) for past in pasts)
    assert gating <= 1


def _best_stop(past: Past, rate: float, most: int = 20) -> float:
    """The largest average e-value of anybody who may stop whenever they like."""
    best = [e_value(failed, most, past) for failed in range(most + 1)]
    for talks in range(most - 1, -1, -1):
        best = [
            max(e_value(failed, talks, past), rate * best[failed + 1] + (1 - rate) * best[failed])
            for failed in range(talks + 1)
        ]
    return best[0]


@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.parametrize("scenarios", [1, 20, 1000])
@pytest.mark.parametrize("before", [LEAST_PAST, 20, 50])
def test_an_unchanged_scenario_is_red_no_more_often_than_its_share_of_alpha(
    before: int, scenarios: int, first: int
) -> None:
    share = 0.8 * 0.05 / scenarios
    worst = max(
        sum(
            _chance(past, before, rate) * chance_of_red(_policy(past, before, scenarios, first), rate)
            for past in range(before // 2 + 1)
        )
        for rate in RATES
    )
    assert worst <= share


@cache
def _policy(past: int, before: int, scenarios: int, first: int) -> Paired:
    return _paired(Past(past, before), scenarios=scenarios, first=first)


def chance_of_red(policy: Paired, rate: float) -> float:
    """How often a scenario of this failure rate is red, over all courses of its conversations."""
    open_with, red = {0: 1.0}, 0.0
    for talks in range(1, policy.most + 1):
        after: dict[int, float] = {}
        for failed, chance in open_with.items():
            for one, part in ((failed, 1 - rate), (failed + 1, rate)):
                after[one] = after.get(one, 0.0) + chance * part
        open_with = {}
        for failed, chance in after.items():
            word = _word(policy, failed, talks) if talks >= policy.first else None
            red += chance if word is Word.RED else 0.0
            if word is None:
                open_with[failed] = chance
    return red


@cache
def _word(policy: Paired, failed: int, talks: int) -> Word | None:
    ruling = policy.after(failed, talks)
    return ruling and ruling.word


@pytest.mark.parametrize("past", [Past(0, 8), Past(4, 8), Past(3, 20), Past(10, 20), Past(25, 50)])
def test_more_failures_never_lower_it(past: Past) -> None:
    for talks in range(1, 21):
        values = [e_value(failed, talks, past) for failed in range(talks + 1)]
        assert values == sorted(values)


def test_more_failures_before_never_raise_it() -> None:
    for failed, talks in [(1, 1), (2, 2), (3, 5), (10, 20)]:
        values = [e_value(failed, talks, Past(before, 20)) for before in range(11)]
        assert values == sorted(values, reverse=True)


def test_it_looks_at_counts_and_not_at_their_order() -> None:
    policy = _paired(Past(2, 20))
    assert policy.evidence([True, False, False]) == policy.evidence([False, False, True])
