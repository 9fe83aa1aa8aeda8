from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_convoprobe.reports.html import html_chunks
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.reports.run_headline import against, title
from pytest_convoprobe.reports.run_report import BaselineComparison, read_report
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.compare import compare
from pytest_convoprobe.results.store import list_runs, open_run
from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn

from ..cli.stored import failed, passed, store
from .runs import FAILED, OLDER, PASSING, TRIALS, past, rows_of, run_report, trial, with_past


def test_what_failed_comes_first() -> None:
    outcomes = [result.outcome for result in run_report().results]
    assert outcomes == [Outcome.FAILED] * 2 + [Outcome.ERROR] * 2 + [Outcome.SKIPPED] + [Outcome.PASSED] * 5


def test_says_what_changed_since_the_run_before() -> None:
    report = with_past()
    assert report.changed(FAILED.result.scenario_id) == ("target's system prompt", "target's tools")
    assert report.newly(FAILED.result.scenario_id) is False
    assert report.newly(PASSING[0].result.scenario_id) is True
    assert report.newly(PASSING[1].result.scenario_id) is None
    assert report.newly(PASSING[2].result.scenario_id) is None


def test_the_run_before_is_the_last_one_that_has_the_scenario() -> None:
    name = FAILED.result.name
    report = run_report([FAILED], past({name: "p"}, {PASSING[0].result.name: "p"}, prints=OLDER))
    before = report.before(FAILED.result.scenario_id)
    assert before is not None
    assert before.run == "20261110T080000Z-aaaaa0"


def test_in_words() -> None:
    assert title(with_past()) == "5 of 7 passed, 2 errors"
    assert title(run_report(PASSING)) == "All 5 passed"
    assert title(run_report([trial(outcome=Outcome.SKIPPED)])) == "Nothing ran"
    assert against(with_past()) == (
        "against the run before, 20261112T080000Z-aaaaa2: "
        "2 new failures, 2 without a verdict, 3 added, 2 the same"
    )
    assert against(run_report()) == ""
    assert against(run_report([PASSING[1]], past({PASSING[1].result.name: "p"}))) == (
        "against the run before, 20261110T080000Z-aaaaa0: 1 the same"
    )


def test_a_baseline_takes_the_place_of_the_run_before() -> None:
    base = past({one.result.name: "p" for one in TRIALS})
    comparison = compare(base, rows_of(TRIALS))
    report = run_report(baseline=BaselineComparison("main-run", comparison))
    assert against(report) == "against main-run: 2 new failures, 2 without a verdict, 1 not run, 5 the same"


def test_a_run_before_that_cannot_be_compared_is_passed_over(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    comparable = store(tmp_path, 1, map(passed, names))
    store(tmp_path, 2, map(passed, names), ended=False)
    store(tmp_path, 3, map(passed, names), models={"target": "another"})
    store(tmp_path, 4, [passed("a")])
    store(tmp_path, 6, [passed("a"), passed("b")])  # half of them, but another knows all
    store(tmp_path, 7, map(passed, names), models={"target": "ours"})
    runs = list_runs(tmp_path / ".convoprobe")
    report = read_report(open_run(runs[0].path), runs)
    assert against(report) == f"against the run before, {comparable}: 3 the same"


def test_reads_a_stored_run_and_those_before_it(tmp_path: Path) -> None:
    for day, result in ((1, passed("a")), (2, passed("a")), (3, failed("a")), (4, passed("a"))):
        store(tmp_path, day, [result])
    runs = list_runs(tmp_path / ".convoprobe")
    report = read_report(open_run(runs[1].path), runs)
    assert [point.outcomes for point in report.points("scenarios/a.yaml::a")] == [
        {"passed": 1},
        {"passed": 1},
        {"failed": 1},
    ]
    assert report.runs == ({"passed": 1}, {"passed": 1}, {"failed": 1})
    assert report.results[0].transcript.turns[0].user == "What's the weather like?"


def test_names_of_tools_that_no_stored_run_has_seen(tmp_path: Path) -> None:
    """A run in which the tool was called, before or after, shows that its name is right."""
    names = ("pay", "delete_ordr", "find_*")
    called = Transcript((Turn(1, "Hi", Reply("Hello", (ToolCall("pay"),))),))
    store(tmp_path, 1, [replace(passed("b"), transcript=called)])
    found = Transcript((Turn(1, "Hi", Reply("Hello", (ToolCall("find_me"),))),))
    store(tmp_path, 2, [replace(passed("a"), unmatched_tools=names), replace(passed("b"), transcript=found)])
    runs = list_runs(tmp_path / ".convoprobe")
    report = read_report(open_run(runs[0].path), runs)
    assert report.unseen_tools == ("delete_ordr",)
    for text in (markdown(report).replace("&#95;", "_"), "".join(html_chunks(report))):
        assert "Note: no stored run has a call of delete_ordr; list all tools" in text
    assert read_report(open_run(runs[1].path), runs).unseen_tools == ()
