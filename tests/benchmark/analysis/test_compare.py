"""Two runs side by side: rankings, shifts, flips, evaluators that agree or don't."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.analysis.compare import ComparedRun, compare
from pytest_convoprobe.benchmark.analysis.comparison_model import Correlation, ModelComparison, Track
from pytest_convoprobe.benchmark.analysis.trials import Shown, Trial
from pytest_convoprobe.benchmark.format.models import MetricType

TYPES = {"m01": MetricType.POSITIVE, "m02": MetricType.NEGATIVE}
Verdicts = Mapping[str, Mapping[str, str]]
"""By target and scenario, a letter a sample: P passed, F failed, ? unreadable."""


def side(verdicts: Verdicts, model: str = "openai/one") -> ComparedRun:
    return ComparedRun(model, TYPES, {target: list(trials(told)) for target, told in verdicts.items()})


def trials(told: Mapping[str, str]) -> Iterable[Trial]:
    for scenario, letters in told.items():
        for sample, letter in enumerate(letters, 1):
            passed = {"P": True, "F": False, "?": None}[letter]
            yield Trial(Shown.by_id(f"{scenario}_v01"), sample, passed, True)


def overall(found: ModelComparison) -> Track:
    return found.tracks["overall"]


def alike(**passes: int) -> dict[str, dict[str, str]]:
    """Targets that pass in the first so many of four scenarios."""
    return {
        target: {f"m01_s{n:03d}": "P" if n <= count else "F" for n in range(1, 5)}
        for target, count in passes.items()
    }


def test_the_ranking_before_and_after() -> None:
    found = compare(side(alike(a=4, b=2, c=1)), side(alike(a=1, b=2, c=2), "openai/two"), "evaluator")
    assert [(one.target, one.place_before, one.place_after) for one in overall(found).targets] == [
        ("a", 1, 3),
        ("b", 2, 1),
        ("c", 3, 1),
    ]
    assert [one.target for one in overall(found).moved] == ["a", "b", "c"]
    assert (found.first, found.second) == ("openai/one", "openai/two")


def test_correlations_by_hand() -> None:
    """Places 1, 2, 3, 4 against 1, 3, 2, 4: Spearman 1 - 6 * 2 / 60, Kendall (5 - 1) / 6."""
    found = compare(side(alike(a=4, b=3, c=2, d=1)), side(alike(a=4, b=2, c=3, d=1)), "user-model")
    track = overall(found)
    assert track.spearman.value == pytest.approx(0.8)
    assert track.kendall.value == pytest.approx(4 / 6)
    assert track.spearman.reason == ""


def test_a_ranking_that_rests_on_few_scenarios_has_a_wide_interval() -> None:
    first = side(alike(a=4, b=3, c=2, d=1))
    interval = overall(compare(first, side(alike(a=4, b=2, c=3, d=1)), "user-model")).spearman.interval
    assert interval is not None
    assert interval.low < 0.8 <= interval.high <= 1


FEW = "verdicts on both sides; a correlation of ranks needs three"


@pytest.mark.parametrize(
    ("targets", "reason"),
    [
        ({}, f"no target has {FEW}"),
        ({"a": 1}, f"only one target has {FEW}"),
        ({"a": 1, "b": 2}, f"only two targets have {FEW}"),
        ({"a": 1, "b": 1, "c": 1}, "on one side all targets have the same pass rate"),
    ],
)
def test_where_there_is_no_correlation_the_reason_is_told(targets: dict[str, int], reason: str) -> None:
    found = compare(side(alike(**targets)), side(alike(**targets)), "evaluator")
    assert overall(found).spearman == overall(found).kendall == Correlation(None, None, reason)


def test_the_shift_is_the_mean_over_scenarios_with_students_interval() -> None:
    """Shifts of 0, -1, -1/2 and 0 in four scenarios: mean -3/8; s = 0.4787, t = 3.1824, so +- 0.7617."""
    before = {"a": {"m01_s001": "PP", "m01_s002": "PP", "m01_s003": "PF", "m01_s004": "FF"}}
    after = {"a": {"m01_s001": "PP", "m01_s002": "FF", "m01_s003": "FF", "m01_s004": "FF"}}
    (target,) = overall(compare(side(before), side(after), "user-model")).targets
    assert target.shift is not None
    assert target.shift.difference == pytest.approx(-3 / 8)
    assert target.shift.interval is not None
    assert target.shift.interval.low == -1.0
    assert target.shift.interval.high == pytest.approx(-0.375 + 0.7617, abs=1e-4)


def test_flips_are_listed_with_their_cell() -> None:
    found = compare(
        side({"a": {"m01_s001": "PF"}, "b": {"m02_s001": "P"}}),
        side({"a": {"m01_s001": "PP"}, "b": {"m02_s001": "F"}}),
        "evaluator",
    )
    assert [(one.target, one.id, one.sample, one.before, one.after) for one in found.flips] == [
        ("a", "m01_s001_v01", 2, False, True),
        ("b", "m02_s001_v01", 1, True, False),
    ]
    assert found.cells == 3


def test_a_cell_without_a_verdict_on_one_side_counts_on_neither() -> None:
    found = compare(side({"a": {"m01_s001": "PP?"}}), side({"a": {"m01_s001": "P??"}}), "evaluator")
    (target,) = overall(found).targets
    assert (found.cells, found.left_out, found.flips) == (1, 1, ())
    assert (target.before.scored, target.after.scored) == (1, 1)


def test_targets_on_one_side_only_are_not_compared() -> None:
    found = compare(side(alike(a=1, b=2)), side(alike(b=2, c=3)), "evaluator")
    assert [one.target for one in overall(found).targets] == ["b"]


def test_kappa_is_of_presence_and_not_of_passes() -> None:
    """Both metrics fail or pass by the same letters, but in m02 a pass means that nothing was seen.

    Seen by the first: yes yes no no; by the second: yes no no no. They agree
    in 3/4; by chance it would be 1/2 * 1/4 + 1/2 * 3/4.
    """
    found = compare(
        side({"a": {"m01_s001": "PP", "m02_s001": "PP"}}),
        side({"a": {"m01_s001": "PF", "m02_s001": "PP"}}),
        "evaluator",
    )
    assert found.agreement is not None
    assert (found.agreement.pairs, found.agreement.same) == (4, 0.75)
    assert found.agreement.kappa == pytest.approx((0.75 - 0.5) / 0.5)
    assert found.agreement_by_metric["m01"].same == 0.5
    assert found.agreement_by_metric["m02"].kappa is None


def test_the_interval_of_kappa_is_of_scenarios_and_not_of_answers() -> None:
    """Eight samples of a scenario that all say the same are little more than one."""
    before = {f"m01_s{n:03d}": "PF"[n % 2] * 8 for n in range(12)}
    after = before | {"m01_s000": "F" * 8, "m01_s001": "P" * 8}
    found = compare(side({"a": before}), side({"a": after}), "evaluator").agreement
    assert found is not None
    assert found.kappa == pytest.approx(2 / 3)
    assert found.interval is not None
    assert found.interval.low < 0.3
    one = {"m01_s001": "PF"}
    assert compare(side({"a": one}), side({"a": {"m01_s001": "PP"}}), "evaluator").agreement.interval is None


def test_only_evaluators_are_compared_on_the_same_transcripts() -> None:
    found = compare(side(alike(a=1)), side(alike(a=2)), "user-model")
    assert found.agreement is None
    assert found.agreement_by_metric == {}


def test_scenarios_of_another_generator_are_others_although_their_ids_are_the_same() -> None:
    found = compare(side(alike(a=4)), side(alike(a=1)), "generator")
    (target,) = overall(found).targets
    assert (found.scenarios, found.cells, found.left_out, found.flips) == (8, 0, 0, ())
    assert (target.before.pass_rate, target.after.pass_rate) == (1.0, 0.25)
    assert target.shift is not None
    assert target.shift.difference == -0.75
    assert target.shift.interval is not None
    assert -1 <= target.shift.interval.low < -0.75 < target.shift.interval.high < 0


def test_scenarios_of_two_generators_are_drawn_apart() -> None:
    """One scenario on one side tells nothing of others, however many the other side has."""
    one = {"a": {"m01_s001": "PPP"}, "b": {"m01_s001": "PPF"}, "c": {"m01_s001": "PFF"}}
    several = alike(a=4, b=2, c=1)
    track = overall(compare(side(one), side(several), "generator"))
    assert track.spearman.value == 1.0
    assert track.spearman.interval is None
    two = {target: told | {"m01_s002": told["m01_s001"][::-1]} for target, told in one.items()}
    assert overall(compare(side(two), side(several), "generator")).spearman.interval is not None


def test_the_tracks_are_compared_on_their_own() -> None:
    before = {"a": {"m01_s001": "P", "m02_s001": "F"}}
    found = compare(side(before), side(before), "evaluator")
    rates = {name: track.targets[0].before.pass_rate for name, track in found.tracks.items()}
    assert rates == {"overall": 0.5, "positive": 1.0, "negative": 0.0}


def test_nothing_to_compare_is_no_error() -> None:
    found = compare(side({}), side({}), "evaluator")
    assert found.scenarios == 0
    assert found.to_json()["agreement"] == {"pairs": 0, "same": None, "kappa": None, "interval": None}


LETTERS = st.fixed_dictionaries({f"m0{m}_s00{n}": st.text("PF?", max_size=2) for m in (1, 2) for n in (1, 2)})
VERDICTS = st.fixed_dictionaries({"a": LETTERS, "b": LETTERS})


@given(VERDICTS, VERDICTS, st.randoms(use_true_random=False))
def test_the_order_of_trials_changes_nothing(before: Verdicts, after: Verdicts, order: random.Random) -> None:
    first, second = side(before), side(after)
    mixed = {target: order.sample(list(those), len(those)) for target, those in second.trials.items()}
    found = compare(first, ComparedRun(second.model, TYPES, mixed), "evaluator")
    assert found.to_json() == compare(first, second, "evaluator").to_json()


@given(VERDICTS, VERDICTS)
def test_turning_the_sides_round_turns_the_shifts_round(before: Verdicts, after: Verdicts) -> None:
    there = compare(side(before), side(after), "user-model")
    back = compare(side(after), side(before), "user-model")
    assert there.cells == back.cells
    assert len(there.flips) == len(back.flips)
    for one, other in zip(overall(there).targets, overall(back).targets, strict=True):
        assert (one.before, one.place_before) == (other.after, other.place_after)
        if one.shift and other.shift:
            assert one.shift.difference == pytest.approx(-other.shift.difference)
