"""The last sentence that people read is the same one in every report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult, CriterionResult, Vote
from pytest_convoprobe.reports.annotations import commands
from pytest_convoprobe.reports.failure import render_failure
from pytest_convoprobe.reports.html.page import context
from pytest_convoprobe.reports.html.view import details
from pytest_convoprobe.reports.junit import junit
from pytest_convoprobe.reports.markdown import escaped, markdown
from pytest_convoprobe.reports.summary import Digest, summary_lines
from pytest_convoprobe.result import Outcome, ScenarioResult, verdict_reason, why
from pytest_convoprobe.results.records import TrialRecord

from .results import MET, NOT_MET, TOO_MANY, TRIGGERED, UNTOLD, result
from .runs import run_report


def judged(
    outcome: Outcome, blame: Blame, *criteria: CriterionResult, checks: tuple[CheckResult, ...] = ()
) -> ScenarioResult:
    reason = verdict_reason(criteria, checks)
    return result(outcome, blame=blame, score=0.5, criteria=criteria, checks=checks, reason=reason)


CASES = [
    (judged(Outcome.FAILED, Blame.AGENT, MET, NOT_MET), "c2 not met: The agent tells the wind"),
    (
        judged(Outcome.FAILED, Blame.AGENT, NOT_MET, TRIGGERED, checks=(TOO_MANY,)),
        "tool calls: expected at most 1, found 2 (+2 more: c2, f1)",
    ),
    (
        judged(Outcome.ERROR, Blame.JUDGE, MET, UNTOLD),
        "t1 cannot tell: Called with the units that the user wants",
    ),
    (result(Outcome.ERROR, blame=Blame.SIMULATOR, reason="it speaks as the agent"), "it speaks as the agent"),
]


@pytest.mark.parametrize(("shown", "sentence"), CASES)
def test_every_report_says_the_same(shown: ScenarioResult, sentence: str) -> None:
    assert why(shown) == sentence
    report = run_report([TrialRecord(shown)])
    terminal = render_failure(shown, verbosity=0, width=120, rerun_command="pytest x", ascii_only=False)
    assert f"why      {sentence}\n" in terminal
    assert summary_lines([shown])[0].endswith(f": {sentence}")
    (annotation,) = commands([Digest.of(shown)], folder=Path("/"), environ={})
    assert annotation.endswith(f": {sentence}")
    assert markdown(report).count(escaped(sentence)) >= 2  # in the table and in the details
    assert sentence.startswith(context(report)["rows"][0].why[0])
    assert f": {sentence}" in junit(report)


def test_every_report_shows_what_a_second_vote_said() -> None:
    first = Vote("not_met", False, NOT_MET.finding)
    hostile = Vote("not_met", False, "Never.\n::error::<b>", "It's\x1b[2K cold", 2, "openai/x", "opposite")
    shown = judged(Outcome.FAILED, Blame.AGENT, replace(NOT_MET, votes=(first, hostile)))
    said = 'a second vote said not met: Never. ::error::<b> ("It\'s\\x1b[2K cold", turn 2)'
    report = run_report([TrialRecord(shown)])
    terminal = render_failure(shown, verbosity=0, width=120, rerun_command="pytest x", ascii_only=False)
    assert f"\n       {said}\n" in terminal
    assert escaped(said) in markdown(report)
    assert said in details(report, report.trials[0])["criteria"][0]["finding"].replace("\n", " ")


def test_a_result_without_a_reason_has_its_findings() -> None:
    old = result(Outcome.FAILED, blame=Blame.AGENT, score=0.5, criteria=(MET, NOT_MET))
    assert why(old) == "c2 not met: The agent tells the wind"
