"""The line about the last audit, with its age, in each report on a run with a gate."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from pytest_convoprobe.gate.suite import SuiteDecision
from pytest_convoprobe.gate.types import Decision, Word
from pytest_convoprobe.reports.audit_words import audit_line
from pytest_convoprobe.reports.html import html_chunks
from pytest_convoprobe.reports.json_report import json_report, schema
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.results.audit_file import Audit, GateFigures, ScenarioAudit
from pytest_convoprobe.results.fingerprints import Prints

from .runs import FAILED, PASSING, run_report

DAY = 86_400.0
AT = 1_790_000_000.0
PRINTS = Prints(
    scenario="a" * 16, prompts="b" * 16, own_prompts="c" * 16, judge="d" * 16, judge_model="openai/j",
    user="e" * 16, user_model="openai/u",
)  # fmt: skip
OTHER = replace(PRINTS, scenario="f" * 16)
MISSED = {"always": {"one": 0.06}, "half": {"one": 0.44}}
FIGURES = GateFigures(300, 0, 0.00994, 0.0, 1.7, 2.2, MISSED)
AUDIT = Audit(
    AT, ("run",), "paired", 0.05, "openai/j", FIGURES,
    tuple(ScenarioAudit(name, 20, 0, prints=PRINTS) for name in ("a", "b", "c")),
)  # fmt: skip
LINE = (
    "measured on this suite 2026-09-21 (audit): false red 0 of 300 (at most 1 %), missed: broken always 6 %, "
    "half of the time 44 %; 1.7 conversations a scenario"
)


@pytest.mark.parametrize(
    ("prints", "days", "line"),
    [
        ({"a": PRINTS, "b": PRINTS}, 2, LINE),
        ({"a": PRINTS, "b": PRINTS, "c": OTHER}, 2, f"{LINE}; 1 of 3 scenarios changed since"),
        (
            {"a": OTHER, "new": PRINTS, "c": PRINTS}, 2,
            "gate not measured: 2 of 3 scenarios changed since the audit of 2026-09-21",
        ),
        ({"a": PRINTS}, 31, "gate not measured: the audit of 2026-09-21 is older than 30 days"),
    ],
)  # fmt: skip
def test_what_is_too_old_or_about_something_else_was_not_measured(
    prints: dict[str, Prints], days: int, line: str
) -> None:
    assert audit_line(AUDIT, prints, AT + days * DAY) == line


def test_without_an_audit_there_is_no_line_and_a_broken_promise_is_said() -> None:
    assert audit_line(None, {"a": PRINTS}, AT) == ""
    assert audit_line(replace(AUDIT, broken=("x",)), {}, AT).endswith("; the promise does not hold")
    assert audit_line(replace(AUDIT, unknown=("x",)), {}, AT).endswith("; not all was measured")
    blind = replace(AUDIT, gate=replace(FIGURES, missed={}))
    assert "missed: not known" in audit_line(blind, {}, AT)


def test_every_report_shows_it() -> None:
    gate = SuiteDecision((Decision(FAILED.result.scenario_id, "paired", Word.GREEN, 1, 2),))
    report = replace(run_report([FAILED, *PASSING]), gate=gate, audit=LINE)
    assert LINE in "".join(html_chunks(report))
    assert "false red 0 of 300" in markdown(report)
    data = json.loads(json.dumps(json_report(report)))
    jsonschema.validate(data, schema())
    assert data["gate"]["audit"] == LINE
