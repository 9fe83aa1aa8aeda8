"""Which conversations a scenario under the gate needs, and what they come to."""

from __future__ import annotations

from dataclasses import replace

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.gate.policies import Confirm, Paired
from pytest_convoprobe.gate.prior import prior_of
from pytest_convoprobe.gate.types import Decision, Past, Word
from pytest_convoprobe.judging.types import Criterion, CriterionKind, CriterionResult, Vote
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.runs.gated_scenario import GatedScenario, Terms, kept_for_rerun

PASSED = ScenarioResult("a", "s.yaml::a", "s.yaml", 1, Outcome.PASSED)
FAILED = replace(PASSED, outcome=Outcome.FAILED, blame=Blame.AGENT, reason="wrong")
UNTOLD = replace(PASSED, outcome=Outcome.ERROR, blame=Blame.JUDGE, reason="cannot tell")
OUTAGE = replace(PASSED, outcome=Outcome.ERROR, blame=Blame.INFRASTRUCTURE, reason="down")
PAST = Past(2, 40, "main")
CONFIRM = Terms(Confirm())
PAIRED = Terms(Paired(PAST, prior_of([PAST]), scenarios=20), PAST)


def run(terms: Terms, *talks: ScenarioResult) -> GatedScenario:
    """The scenario after the conversations that it asked for, of those that there would be."""
    gated, coming = GatedScenario("s.yaml::a", terms), iter(talks)
    while (trial := gated.next_trial) is not None:
        gated.add(replace(next(coming), trial=trial))
    return gated


def decision(gated: GatedScenario) -> Decision:
    found = gated.decision()
    assert found is not None
    return found


def test_one_that_passes_is_green_at_once() -> None:
    for terms in (CONFIRM, PAIRED):
        found = decision(run(terms, PASSED))
        assert (found.word, found.failed, found.talks) == (Word.GREEN, 0, 1)


def test_a_failure_that_repeats_is_red() -> None:
    found = decision(run(CONFIRM, FAILED, PASSED, FAILED))
    assert (found.word, found.failed, found.talks) == (Word.RED, 2, 3)
    found = decision(run(PAIRED, *[FAILED] * 20))
    assert found.word is Word.RED
    assert found.talks < 10
    assert found.past == PAST
    assert found.e_value is not None
    assert found.red_from is not None
    assert found.e_value >= found.red_from


def test_a_failure_that_does_not_repeat_is_green_and_counted() -> None:
    found = decision(run(PAIRED, FAILED, *[PASSED] * 19))
    assert (found.word, found.failed) == (Word.GREEN, 1)


def test_a_conversation_without_a_verdict_is_replaced() -> None:
    gated = run(CONFIRM, UNTOLD, PASSED)
    assert [one.trial for one in gated.results] == [1, 2]
    found = decision(gated)
    assert (found.word, found.talks, found.unjudged) == (Word.GREEN, 1, 1)


def test_whatever_an_undecided_talk_is_called_it_has_no_verdict() -> None:
    for outcome in (Outcome.FAILED, Outcome.SKIPPED, Outcome.ERROR):
        gated = run(CONFIRM, replace(UNTOLD, outcome=outcome), PASSED)
        assert decision(gated).unjudged == 1


def test_out_of_talks_is_undecided() -> None:
    found = decision(run(CONFIRM, FAILED, UNTOLD, UNTOLD))
    assert (found.word, found.failed, found.talks, found.unjudged) == (Word.UNDECIDED, 1, 1, 2)


def test_a_judge_that_decides_nothing_decides_nothing() -> None:
    """And is not asked about twenty conversations."""
    for terms, talks in ((CONFIRM, 3), (PAIRED, 5)):
        gated = run(terms, *[UNTOLD] * 20)
        assert gated.decision() is None
        assert gated.broken is None
        assert len(gated.results) == talks
        assert gated.shown.blame is Blame.JUDGE


def test_an_outage_ends_it_without_a_decision() -> None:
    for talks in ([OUTAGE], [FAILED, OUTAGE], [FAILED, FAILED, OUTAGE]):
        gated = run(PAIRED, *talks)
        assert gated.broken is not None
        assert gated.broken.blame is Blame.INFRASTRUCTURE
        assert gated.decision() is None


def test_the_budget_bounds_what_is_added() -> None:
    gated = run(replace(PAIRED, more=1), FAILED, FAILED, FAILED)
    assert len(gated.results) == 2
    found = decision(gated)
    assert found.word is Word.UNDECIDED
    assert found.notes == ("the share of gate.max_talks is used up",)
    # What passes needs no budget.
    assert decision(run(replace(PAIRED, more=0), PASSED)).word is Word.GREEN


def test_all_first_conversations_count_together() -> None:
    terms = Terms(Confirm(first=3))
    gated = GatedScenario("s.yaml::a", terms)
    for trial, one in enumerate([FAILED, PASSED, FAILED], 1):
        assert gated.next_trial == trial
        gated.add(replace(one, trial=trial))
    assert decision(gated).word is Word.RED


def test_the_order_in_which_they_end_is_no_matter() -> None:
    talks = [replace(one, trial=trial) for trial, one in enumerate([FAILED, PASSED, PASSED], 1)]
    forward, backward = GatedScenario("a", CONFIRM, talks), GatedScenario("a", CONFIRM, reversed(talks))
    assert forward.decision() == backward.decision()
    assert forward.shown == backward.shown


def test_a_rerun_launders_nothing() -> None:
    red = run(CONFIRM, FAILED, FAILED)
    again = GatedScenario("s.yaml::a", CONFIRM, kept_for_rerun(red.results))
    assert again.next_trial is None
    assert decision(again) == decision(red)


def test_a_rerun_repeats_what_had_no_verdict() -> None:
    broken = run(PAIRED, FAILED, UNTOLD, OUTAGE)
    again = GatedScenario("s.yaml::a", PAIRED, kept_for_rerun(broken.results))
    assert again.next_trial == 2
    again.add(replace(PASSED, trial=2))
    assert again.next_trial == 3


def voted(*holds: bool | None, final: bool | None) -> ScenarioResult:
    votes = tuple(Vote("met" if one else "not_met", one, "") for one in holds)
    criterion = Criterion("c1", CriterionKind.CORRECTNESS, "It answers")
    return replace(PASSED, criteria=(CriterionResult(criterion, "met", final, "", votes=votes),))


def test_votes_are_counted() -> None:
    overruled = replace(voted(False, True, final=None), outcome=Outcome.ERROR, blame=Blame.JUDGE)
    confirmed = replace(voted(False, False, final=False), outcome=Outcome.FAILED, blame=Blame.AGENT)
    found = decision(run(CONFIRM, overruled, confirmed, PASSED))
    assert (found.votes, found.overruled, found.failed) == (2, 1, 1)


def test_what_is_shown_is_a_failure_where_there_is_one() -> None:
    assert run(CONFIRM, PASSED).shown.passed
    assert run(CONFIRM, UNTOLD, FAILED, PASSED).shown.outcome is Outcome.FAILED
