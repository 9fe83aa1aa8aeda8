"""How often each scenario passed with each target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.reports.html import html_chunks, write_html
from pytest_convoprobe.reports.html.anchors import anchor
from pytest_convoprobe.reports.html.matrix import matrix
from pytest_convoprobe.reports.html.page import context
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.records import TrialRecord

from .browser import Browser, click
from .pages import EVIL
from .runs import FAILED, PASSING, run_report

TARGETS = ("gpt-4o", "claude-sonnet", "a small model that runs on the desk")


def aimed(one: TrialRecord, target: str, number: int = 1, **values: object) -> TrialRecord:
    """The trial with one of several targets."""
    id = f"{one.result.scenario_id}[{target}]"
    changed = replace(one.result, scenario_id=id, target_name=target, trial=number, **values)  # type: ignore[arg-type]
    return replace(one, result=changed)


LOST = {"outcome": Outcome.ERROR, "blame": Blame.INFRASTRUCTURE, "reason": "no connection"}

MATRIX = (
    FAILED,
    *(aimed(PASSING[0], TARGETS[0], number) for number in (1, 2, 3)),
    aimed(PASSING[0], TARGETS[1]),
    aimed(PASSING[0], TARGETS[1], 2, outcome=Outcome.FAILED, blame=Blame.AGENT, reason="no"),
    aimed(PASSING[0], TARGETS[1], 3, **LOST),
    *(aimed(PASSING[1], target) for target in TARGETS),
)


def test_cells_say_how_many_of_the_verdicts_passed() -> None:
    found = matrix([one.result for one in MATRIX])
    assert found is not None
    assert found.targets == tuple(sorted(TARGETS))
    said = [(name, [cell and (cell.outcome, cell.words) for cell in cells]) for name, cells in found.rows]
    assert said == [
        ("Where is my parcel?", [None, ("failed", "1 of 2, 1 error"), ("passed", "3 of 3")]),
        ("Change the address before dispatch", [("passed", "passed")] * 3),
    ]
    cell = found.rows[0][1][1]
    assert cell is not None
    assert [one.label for one in cell.trials] == ["trial 1, passed", "trial 2, failed", "trial 3, error"]
    assert [one.to for one in cell.trials] == [anchor(one.result) for one in MATRIX[4:7]]


def test_a_cell_without_a_verdict_says_so() -> None:
    found = matrix([aimed(PASSING[0], "a", **LOST).result, aimed(PASSING[0], "b").result])
    assert found is not None
    cell = found.rows[0][1][0]
    assert cell is not None
    assert (cell.outcome, cell.words) == ("error", "error")


def test_trials_without_targets_have_one_column() -> None:
    trials = [replace(PASSING[0], result=replace(PASSING[0].result, trial=number)) for number in (1, 2)]
    found = matrix([one.result for one in (*trials, PASSING[1])])
    assert found is not None
    assert found.targets == ("",)
    assert [name for name, _ in found.rows] == ["Where is my parcel?"]
    assert "Trials passed</th>" in "".join(html_chunks(run_report([*trials, PASSING[1]])))


def test_a_run_of_single_trials_has_none() -> None:
    assert matrix([one.result for one in PASSING]) is None
    assert context(run_report(PASSING))["matrix"] is None


def test_hostile_names_stay_text() -> None:
    page = "".join(html_chunks(run_report([aimed(PASSING[0], EVIL), aimed(PASSING[0], "b")])))
    assert "<img src=x" not in page
    assert "\u202e" not in page


def test_a_cell_leads_to_its_trials_and_targets_can_be_filtered(started: Browser, tmp_path: Path) -> None:
    write_html(run_report(MATRIX), tmp_path / "report.html")
    started.size(1400)
    started.open(tmp_path / "report.html")
    assert sorted(started.texts(".k-of-n")) == ["1 of 2, 1 error", "3 of 3", "passed", "passed", "passed"]
    wanted = anchor(MATRIX[5].result)  # with a target, a second trial
    started.run("document.querySelector(arguments[0]).click()", f".matrix a[href='#{wanted}']")
    started.until(f"document.getElementById('{wanted}').open")
    assert started.run("return location.hash") == f"#{wanted}"
    choose = "const s = document.querySelector('[name=target]'); s.value = arguments[0];"
    started.run(choose + "s.dispatchEvent(new Event('input', {bubbles: true}))", TARGETS[2])
    started.until("document.getElementById('shown').textContent === '1 of 10'")
    assert started.texts(".trial strong") == [f"Change the address before dispatch {TARGETS[2]}"]
    click(started, "#filters [type=reset]")


def test_a_name_with_the_target_in_it_does_not_say_it_twice() -> None:
    named = [aimed(PASSING[0], one, name=f"Where is my parcel? [{one}]") for one in ("a", "b")]
    found = context(run_report(named))
    assert [(row.name, row.target) for row in found["rows"]] == [
        ("Where is my parcel?", "a"),
        ("Where is my parcel?", "b"),
    ]
    assert [name for name, _ in found["matrix"].rows] == ["Where is my parcel?"]
