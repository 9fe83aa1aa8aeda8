"""What the gate decided, in each report: a failure as before is not a failed scenario."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import jsonschema
import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.gate.suite import SuiteDecision
from pytest_convoprobe.gate.types import Decision, Past, Word
from pytest_convoprobe.reports.html import html_chunks
from pytest_convoprobe.reports.html.page import context
from pytest_convoprobe.reports.json_report import json_report, schema
from pytest_convoprobe.reports.junit import junit
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.reports.run_report import RunReport, in_order
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.records import TrialRecord

from .pages import EVIL
from .runs import FAILED, PASSING, run_report

ID = FAILED.result.scenario_id
AS_BEFORE = Decision(
    ID, "paired", Word.GREEN, 1, 2, Past(3, 40, "_baseline.json"), 0.7, 500.0, votes=2, overruled=1,
    unjudged=1,
)  # fmt: skip
RED = replace(AS_BEFORE, word=Word.RED, failed=5, talks=5, e_value=4096.5)
UNDECIDED = replace(AS_BEFORE, word=Word.UNDECIDED, failed=4, talks=20)
SENTENCE = "1 of 2 failed, base 3 of 40: as before"


def decided(decision: Decision) -> RunReport:
    """A run in which one scenario failed once, passed once, and had one conversation without a verdict."""
    again = replace(FAILED.result, trial=2, outcome=Outcome.PASSED, blame=None, reason="")
    untold = replace(FAILED.result, trial=3, outcome=Outcome.ERROR, blame=Blame.JUDGE, reason="cannot tell")
    trials = [FAILED, TrialRecord(again), TrialRecord(untold), *PASSING]
    decisions = {ID: decision}
    report = run_report(trials)
    return replace(report, gate=SuiteDecision((decision,)), trials=tuple(in_order(report.trials, decisions)))


def cases(decision: Decision) -> list[ET.Element]:
    cases = ET.fromstring(junit(decided(decision))).iter("testcase")
    return [case for case in cases if (case.get("name") or "").startswith(FAILED.result.name)]


class TestJUnit:
    def test_a_failure_as_before_is_skipped_like_one_that_is_expected(self) -> None:
        root = ET.fromstring(junit(decided(AS_BEFORE)))
        assert (root.get("failures"), root.get("errors")) == ("0", "0")
        (failed, *_) = [case for case in cases(AS_BEFORE) if case.find("skipped") is not None]
        assert f"({SENTENCE})" in (failed.find("skipped").get("message") or "")  # type: ignore[union-attr]

    def test_a_red_one_has_failed_with_the_sentence(self) -> None:
        (failure,) = [found for case in cases(RED) if (found := case.find("failure")) is not None]
        assert "(5 of 5 failed, base 3 of 40: more often than before)" in (failure.get("message") or "")

    def test_the_figures_are_properties(self) -> None:
        found = {one.get("name"): one.get("value") for one in cases(AS_BEFORE)[0].iter("property")}
        assert (
            found.items()
            >= {
                "convoprobe_gate": "green",
                "convoprobe_gate_failed": "1",
                "convoprobe_gate_talks": "2",
                "convoprobe_base_failed": "3",
                "convoprobe_base_talks": "40",
                "convoprobe_e_value": "0.7",
                "convoprobe_red_from": "500.0",
                "convoprobe_second_votes": "2",
                "convoprobe_overruled": "1",
                "convoprobe_gate_mode": "block",
                "convoprobe_decision": SENTENCE,
            }.items()
        )


class TestMarkdown:
    def test_a_green_run_says_how_often_it_failed_before(self) -> None:
        text = markdown(decided(AS_BEFORE))
        assert "### ✅ Conversations: gate green: 6 of 7 conversations passed" in text
        assert "**Gate: green.** 1 scenario: 1 green; 1 of 2 conversations failed." in text
        assert "1 of 2 failed, base 3 of 40&#58; as before" in text
        assert "e&#45;value 0&#46;7, red from 500" in text
        assert "| Scenario |" not in text
        assert "failed**" not in text

    @pytest.mark.parametrize(("decision", "sign"), [(RED, "❌"), (UNDECIDED, "⚠️")])
    def test_the_sign_is_that_of_the_gate(self, decision: Decision, sign: str) -> None:
        assert markdown(decided(decision)).split("\n")[1].startswith(f"### {sign} ")

    def test_what_blocks_nothing_is_shown_and_not_red(self) -> None:
        text = markdown(
            decided(replace(RED, mode="quarantine", notes=("in quarantine until 2027-01-31: #1",)))
        )
        assert "### ❌" not in text
        assert "in quarantine, so it blocks nothing" in text
        assert "until 2027&#45;01&#45;31" in text


class TestPage:
    def test_the_row_and_the_details_show_the_decision(self) -> None:
        found = context(decided(AS_BEFORE))
        (row,) = [one for one in found["rows"] if one.outcome == "failed"]
        assert (row.gate, row.decision) == ("as before", SENTENCE)
        facts = dict(row.details()["facts"])
        assert facts["Gate"] == f"green: {SENTENCE}"
        assert facts["Gate, figures"] == (
            "decided by paired; compared with _baseline.json; e-value 0.7, red from 500; "
            "2 second votes, 1 took a failure back; 1 without a verdict"
        )
        assert found["title"] == "Gate green: 6 of 7 conversations passed"
        assert found["decided"] == [("green", 1)]

    def test_nothing_in_a_decision_is_markup(self) -> None:
        evil = replace(AS_BEFORE, mode=EVIL, notes=(EVIL,), past=Past(3, 40, EVIL), policy=EVIL)
        text = "".join(html_chunks(decided(evil)))
        assert "<img src=x" not in text
        assert "\u202e" not in text


def test_the_json_follows_its_schema_and_has_the_sentence() -> None:
    data = json.loads(json.dumps(json_report(decided(RED)), allow_nan=False))
    jsonschema.Draft202012Validator(schema()).validate(data)
    (decision,) = data["gate"]["decisions"]
    assert (data["gate"]["word"], decision["stops"], decision["e_value"]) == ("red", True, 4096.5)
    assert decision["sentence"] == "5 of 5 failed, base 3 of 40: more often than before"
    assert "gate" not in json_report(run_report())


def test_what_needs_looking_at_comes_first() -> None:
    order = [trial.result.outcome for trial in decided(AS_BEFORE).trials]
    assert order[:3] == [Outcome.FAILED, Outcome.PASSED, Outcome.ERROR]
    assert decided(AS_BEFORE).wrong == ()
    assert [one.outcome for one in decided(RED).wrong] == [Outcome.FAILED]


def test_a_failure_as_before_is_not_new() -> None:
    report = decided(AS_BEFORE)
    assert report.newly(ID) is None
