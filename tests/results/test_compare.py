from __future__ import annotations

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.compare import Change, RunFacts, ScenarioChange, ScenarioInRun, compare
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.stats import mcnemar_exact

from .support import row


def trials(name: str, *passed: bool | None, **values: object) -> list:
    return [row(name, one, trial=number, **values) for number, one in enumerate(passed, start=1)]


def one(base: list, head: list) -> ScenarioChange:
    (change,) = compare(base, head).changes
    return change


PASS, FAIL, AWAY = [True], [False], [None]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (PASS, PASS, Change.SAME),
        (FAIL, FAIL, Change.SAME),
        (PASS, FAIL, Change.NEW_FAILURE),
        (FAIL, PASS, Change.FIXED),
        (PASS, AWAY, Change.NO_VERDICT),
        (FAIL, AWAY, Change.NO_VERDICT),
        (AWAY, PASS, Change.FIRST_VERDICT),
        (AWAY, FAIL, Change.FAILS_UNKNOWN),
        (AWAY, AWAY, Change.NO_VERDICT),
        ([], FAIL, Change.FAILS_UNKNOWN),
        ([], AWAY, Change.NO_VERDICT),
        ([True] * 3, [True, True, False], Change.NEW_FAILURE),
        ([True, False, False], [True] * 3, Change.FIXED),
        ([True, True, False], [True, False, False], Change.WORSE),
        ([True, False, False], [True, True, False], Change.BETTER),
        ([True, False, False], [False, True, False], Change.SAME),
    ],
)
def test_what_became_of_a_scenario(before: list, after: list, kind: Change) -> None:
    assert one(trials("a", *before), trials("a", *after)).kind is kind


def _base(change: ScenarioChange) -> ScenarioInRun:
    assert change.base is not None
    return change.base


def _head(change: ScenarioChange) -> ScenarioInRun:
    assert change.head is not None
    return change.head


def test_added_and_removed() -> None:
    found = {change.name: change.kind for change in compare([row("old")], [row("new")]).changes}
    assert found == {"old": Change.REMOVED, "new": Change.ADDED}


def test_what_was_skipped_did_not_run() -> None:
    skipped = row("a", outcome=Outcome.SKIPPED)
    assert one([row("a")], [skipped]).kind is Change.NOT_RUN
    assert one([skipped], [row("a")]).kind is Change.FIRST_VERDICT
    assert compare([], [skipped]).changes == ()


def test_what_was_talked_over_and_then_skipped_has_no_verdict() -> None:
    """`inconclusive: skip` may make a run green. It doesn't make a verdict."""
    undecided = row("a", outcome=Outcome.SKIPPED, turns=3)
    assert one([row("a")], [undecided]).kind is Change.NO_VERDICT


@pytest.mark.parametrize(("score", "kind"), [(0.2, Change.WORSE), (0.8, Change.BETTER), (0.5, Change.SAME)])
def test_where_both_fail_the_score_decides(score: float, kind: Change) -> None:
    change = one([row("a", False, score=0.5)], [row("a", False, score=score)])
    assert change.kind is kind
    assert (_base(change).score, _head(change).score) == (0.5, score)


@pytest.mark.parametrize(("before", "after"), [(0.5, None), (None, 0.5)])
def test_a_score_that_is_not_known_is_no_change(before: float | None, after: float | None) -> None:
    assert one([row("a", False, score=before)], [row("a", False, score=after)]).kind is Change.SAME


@pytest.mark.parametrize("blame", [Blame.JUDGE, Blame.SIMULATOR, Blame.SCENARIO])
def test_a_trial_that_could_not_be_decided_is_no_verdict(blame: Blame) -> None:
    head = [row("a"), row("a", None, blame=blame, trial=2)]
    for rows in (head, head[1:]):
        change = one(trials("a", True, True), rows)
        assert change.kind is Change.NO_VERDICT
        assert _head(change).undecided == 1


def test_of_a_rerun_the_last_counts() -> None:
    head = [row("a", False, started=1.0), row("a", True, started=2.0)]
    assert one([row("a")], head).kind is Change.SAME


def test_what_changed_and_what_flipped_are_named() -> None:
    base = row("a", prints=Prints("s", "p", "t", "x"), holds={"c1": True, "c2": True, "f1": False})
    head = row("a", False, prints=Prints("s", "p", "u", "y"), holds={"c1": True, "c2": None, "f1": False})
    change = one([base], [head])
    assert change.changed == ("target's system prompt", "target's tools")
    assert change.flipped == ("c2",)
    assert change.head
    assert change.head.example is head


def test_cost_and_latency_of_both_sides() -> None:
    change = one([row("a", cost=0.1, latency=2.0)], [row("a", cost=0.3, latency=1.5)])
    assert (_base(change).cost, _head(change).cost) == (0.1, 0.3)
    assert (_base(change).latency, _head(change).latency) == (2.0, 1.5)


def test_an_unknown_cost_is_no_change_of_cost() -> None:
    comparison = compare([row("a", cost=None)], [row("a", cost=0.3)])
    assert _base(comparison.changes[0]).cost is None
    assert (comparison.base_cost, comparison.head_cost) == (None, 0.3)


def test_the_latency_of_recordings_means_nothing() -> None:
    assert _head(one([row("a")], [row("a", latency=0.0, replayed=True)])).latency is None


def test_the_most_serious_come_first() -> None:
    base = [row("a"), row("b", False), row("c"), row("e")]
    head = [row("a"), row("b"), row("c", False), row("d"), row("e", None)]
    kinds = [change.kind for change in compare(base, head).changes]
    assert kinds == [Change.NEW_FAILURE, Change.NO_VERDICT, Change.FIXED, Change.ADDED, Change.SAME]


def test_trials_are_paired_by_their_numbers() -> None:
    base = [*trials("a", True, True, False), *trials("b", True, True)]
    head = [*trials("a", False, False, True), *trials("b", True, None)]
    comparison = compare(base, head)
    assert (comparison.pairs, comparison.only_base, comparison.only_head) == (4, 2, 1)
    assert comparison.p_value == mcnemar_exact(2, 1)


def test_the_interval_takes_each_scenario_as_one_cluster() -> None:
    """By hand: differences -0.5, 0 and -1; mean -0.5, deviation 0.5; t(0.975, 2) = 4.3027."""
    base = [*trials("a", True, True), *trials("b", True, True), *trials("c", True, True)]
    head = [*trials("a", True, False), *trials("b", True, True), *trials("c", False, False)]
    comparison = compare(base, head)
    assert comparison.difference == pytest.approx(-0.5)
    assert comparison.interval
    half = 4.3027 * 0.5 / 3**0.5
    assert comparison.interval.low == pytest.approx(-0.5 - half, abs=1e-4)
    assert comparison.interval.high == pytest.approx(-0.5 + half, abs=1e-4)


def test_one_scenario_tells_no_interval() -> None:
    comparison = compare(trials("a", True, True), trials("a", False, True))
    assert (comparison.difference, comparison.interval) == (-0.5, None)


@pytest.mark.parametrize(
    ("before", "after", "regression", "new_failure"),
    [
        (PASS, PASS, False, False),
        (PASS, FAIL, True, True),
        (PASS, AWAY, True, True),
        (FAIL, PASS, False, False),
        ([True, True, False], [True, False, False], True, False),
        ([], FAIL, True, True),
        (AWAY, FAIL, True, True),
        (AWAY, AWAY, True, True),
        (AWAY, PASS, False, False),
        (PASS, [], False, False),
    ],
)
def test_gates(before: list, after: list, regression: bool, new_failure: bool) -> None:
    comparison = compare(trials("a", *before), trials("a", *after))
    assert comparison.fails("regression") is regression
    assert comparison.fails("new-failure") is new_failure
    assert comparison.fails("none") is False


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (PASS, [], Change.NO_VERDICT),
        ([True] * 3, [True, True], Change.NO_VERDICT),
        ([True] * 3, [False], Change.NEW_FAILURE),
        (PASS, PASS, Change.SAME),
        (AWAY, [], Change.NO_VERDICT),
    ],
)
def test_what_a_broken_off_run_lacks_has_no_verdict(before: list, after: list, kind: Change) -> None:
    comparison = compare(trials("a", *before), trials("a", *after), head=RunFacts(ended=False))
    assert [change.kind for change in comparison.changes] == [kind]
    assert comparison.fails("new-failure")


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (RunFacts(), Change.ADDED),
        (RunFacts(partial=True), Change.FIRST_VERDICT),
        (RunFacts(ended=False), Change.FIRST_VERDICT),
        (RunFacts(missing=1), Change.MISSING),
    ],
)
def test_only_a_whole_baseline_can_say_that_a_scenario_was_added(facts: RunFacts, kind: Change) -> None:
    comparison = compare([], [row("a")], base=facts)
    assert [change.kind for change in comparison.changes] == [kind]
    assert comparison.fails("new-failure") is (facts.missing > 0)


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (RunFacts(), Change.REMOVED),
        (RunFacts(partial=True), Change.NOT_RUN),
        (RunFacts(missing=1), Change.MISSING),
    ],
)
def test_only_a_whole_run_can_say_that_a_scenario_was_removed(facts: RunFacts, kind: Change) -> None:
    comparison = compare([row("a")], [], head=facts)
    assert [change.kind for change in comparison.changes] == [kind]
    assert comparison.fails("new-failure") is (facts.missing > 0)


def test_how_much_the_baseline_knows() -> None:
    base = [row("a"), row("b", None), row("d")]
    head = [row("a"), row("b"), row("c", False), row("e", outcome=Outcome.SKIPPED)]
    assert compare(base, head).known == (1, 3)


def test_what_changed_is_named_where_nothing_flipped_too() -> None:
    base = [row("a", target="old.py"), row("b", target="old.py")]
    head = [row("a", target="new.py"), row("b", target="new.py")]
    comparison = compare(base, head)
    assert comparison.changed == {"target old.py → new.py": 2}
    assert [change.kind for change in comparison.changes] == [Change.SAME] * 2


def test_nothing_to_compare() -> None:
    comparison = compare([], [])
    assert (comparison.changes, comparison.p_value, comparison.difference) == ((), 1.0, None)
