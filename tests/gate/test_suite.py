"""What concerns the suite: its prior, its drift, and how many conversations it will need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_convoprobe.gate.drift import Drift
from pytest_convoprobe.gate.forecast import PER_SCENARIO, expected_talks, with_second_looks
from pytest_convoprobe.gate.policies import Paired
from pytest_convoprobe.gate.prior import Prior, prior_of
from pytest_convoprobe.gate.types import Past, Word

PASTS = {f"s{number:02}": Past(failed, 20) for number, failed in enumerate([0] * 15 + [1, 2, 2, 6, 10])}
POLICIES = {
    name: Paired(past, prior_of(PASTS.values()), scenarios=len(PASTS)) for name, past in PASTS.items()
}


def test_the_prior_of_a_suite() -> None:
    prior = prior_of(PASTS.values())
    assert prior.mean == pytest.approx(21 / 401)
    assert prior.rate(Past(0, 20)) < prior.mean < prior.rate(Past(6, 20))


@pytest.mark.parametrize("pasts", [[], [Past(0, 0)], [Past(0, 20)] * 3, [Past(8, 8)], [Past(5, 20)] * 9])
def test_a_prior_is_never_sure(pasts: list[Past]) -> None:
    prior = prior_of(pasts)
    assert prior.a > 0
    assert prior.b > 0
    assert 2 <= prior.a + prior.b <= 20.000001


def _drift(failed: int, before: int = 0) -> Word:
    talks = [(Past(before, 20), number < failed) for number in range(20)]
    return Drift(Prior(0.1, 1.9)).rule(talks).word


def test_a_suite_that_fails_in_many_places_at_once_is_red() -> None:
    assert _drift(0) is Word.GREEN
    assert _drift(1) is Word.GREEN
    assert _drift(6) is Word.RED
    assert _drift(6, before=5) is Word.GREEN


def test_drift_without_anything_to_look_at_is_green() -> None:
    assert Drift(Prior(0.1, 1.9)).rule([]).word is Word.GREEN
    assert _drift(20, before=15) is Word.GREEN


def test_the_forecast_is_the_average_over_all_courses() -> None:
    policy = POLICIES["s00"]
    assert expected_talks(policy, 0.0) == 1
    assert expected_talks(replace(policy, first=3), 0.0) == 3
    # One that always fails: as many as it takes to be red.
    needed = next(talks for talks in range(1, 21) if policy.rule([True] * talks))
    assert expected_talks(policy, 1.0) == needed
    assert expected_talks(replace(policy, first=1, most=2), 0.25) == pytest.approx(1.25)


def test_what_is_left_is_spent_on_second_looks() -> None:
    chosen = with_second_looks(POLICIES, "a commit")
    assert set(chosen) == set(POLICIES)
    twice = [name for name, policy in chosen.items() if policy.first == 2]
    assert 5 <= len(twice) <= 15
    assert all(PASTS[name].failed <= 1 for name in twice)
    assert sum(map(expected_talks, chosen.values())) <= PER_SCENARIO * len(POLICIES)


def test_second_looks_depend_on_the_run_and_not_on_the_order() -> None:
    chosen = with_second_looks(POLICIES, "a commit")
    assert with_second_looks(dict(reversed(POLICIES.items())), "a commit") == chosen
    assert with_second_looks(POLICIES, "another") != chosen


def test_nothing_is_added_where_nothing_is_left() -> None:
    assert with_second_looks(POLICIES, "a commit", per_scenario=1) == POLICIES
    assert with_second_looks({}, "a commit") == {}
