from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.judging.types import (
    CheckResult,
    Criterion,
    CriterionKind,
    CriterionResult,
    Verdict,
)
from pytest_convoprobe.judging.verdict import decide

ANSWERS = {
    CriterionKind.CORRECTNESS: [("met", True), ("not_met", False), ("cannot_tell", None)],
    CriterionKind.TOOL: [("met", True), ("not_met", False), ("cannot_tell", None)],
    CriterionKind.FAILURE: [("not_triggered", True), ("triggered", False), ("cannot_tell", None)],
}


@st.composite
def criterion_results(draw: st.DrawFn) -> CriterionResult:
    kind = draw(st.sampled_from(list(CriterionKind)))
    answer, holds = draw(st.sampled_from(ANSWERS[kind]))
    return CriterionResult(Criterion("x", kind, "text"), answer, holds, "finding")


check_results = st.booleans().map(lambda holds: CheckResult("check", holds, "a", "b"))
some_criteria = st.lists(criterion_results(), max_size=6)
some_checks = st.lists(check_results, max_size=6)

RANK = {False: 0, None: 1, True: 2}


@given(some_criteria.filter(bool), some_checks)
def test_passed_is_the_formula(criteria: list[CriterionResult], checks: list[CheckResult]) -> None:
    # Every correctness (and tool) criterion met, no failure criterion triggered, every check holds.
    told = all(result.answer != "cannot_tell" for result in criteria)
    met = all(
        result.answer == "met" for result in criteria if result.criterion.kind is not CriterionKind.FAILURE
    )
    triggered = any(result.answer == "triggered" for result in criteria)
    formula = met and not triggered and all(check.holds for check in checks)
    passed = decide(criteria, checks).passed
    assert (passed is True) == (formula and told)


@given(some_criteria, some_checks)
def test_one_thing_against_the_agent_fails_whatever_cannot_be_told(
    criteria: list[CriterionResult], checks: list[CheckResult]
) -> None:
    against = any(item.holds is False for item in [*criteria, *checks])
    assert (decide(criteria, checks).passed is False) == against


@given(some_criteria, some_checks, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(
    criteria: list[CriterionResult], checks: list[CheckResult], rng: random.Random
) -> None:
    shuffled = rng.sample(criteria, len(criteria))
    assert decide(shuffled, checks[::-1]) == decide(criteria, checks)


@given(some_criteria, some_checks)
def test_the_score_is_the_share_that_holds(
    criteria: list[CriterionResult], checks: list[CheckResult]
) -> None:
    verdict = decide(criteria, checks)
    total = len(criteria) + len(checks)
    assert 0.0 <= verdict.score <= 1.0
    assert round(verdict.score * total) == sum(item.holds is True for item in [*criteria, *checks])
    if total:
        assert (verdict.score == 1.0) == (verdict.passed is True)


@given(some_criteria, some_checks.filter(bool), st.data())
def test_a_better_finding_never_makes_the_verdict_worse(
    criteria: list[CriterionResult], checks: list[CheckResult], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(checks) - 1))
    better = [*checks[:index], CheckResult("check", True, "a", "b"), *checks[index + 1 :]]
    before, after = decide(criteria, checks), decide(criteria, better)
    assert RANK[after.passed] >= RANK[before.passed]
    assert after.score >= before.score


@given(some_criteria.filter(bool), some_checks)
def test_one_more_failed_check_never_makes_the_verdict_better(
    criteria: list[CriterionResult], checks: list[CheckResult]
) -> None:
    before = decide(criteria, checks)
    after = decide(criteria, [*checks, CheckResult("check", False, "a", "b")])
    assert after.passed is False
    assert after.score <= before.score


def test_nothing_asked_is_not_a_pass() -> None:
    assert decide((), ()) == Verdict(None, 0.0)
