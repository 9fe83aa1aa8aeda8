from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_convoprobe.judging.types import Severity, Suggestion, ToolSuggestions

from .conftest import Convoprobe
from .stored import failed, passed, store


@pytest.fixture
def runs(folder: Path) -> list[str]:
    """Two runs, the second one worse."""
    return [
        store(folder, 1, [passed("a"), passed("b")]),
        store(folder, 2, [failed("a"), passed("b")]),
    ]


def test_markdown_of_the_latest_run_goes_to_stdout(convoprobe: Convoprobe, runs: list[str]) -> None:
    result = convoprobe("report", "--md")
    assert result.exit_code == 0
    assert "### ❌ Conversations: 1 of 2 passed" in result.stdout
    assert "**Against the run before, 20261101T120000Z&#45;000001:** 1 new failure" in result.stdout


def test_another_run_and_a_baseline_can_be_named(convoprobe: Convoprobe, runs: list[str]) -> None:
    result = convoprobe("report", "latest", "--md", "--baseline", "latest~1")
    assert "- new failure: **a** (passed 1 of 1 → 0 of 1, score 1&#46;00 → 0&#46;50" in result.stdout
    assert "all 2 passed" in convoprobe("report", "latest~1", "--md").stdout


def test_json_goes_to_stdout(convoprobe: Convoprobe, runs: list[str]) -> None:
    data = json.loads(convoprobe("report", "--json").stdout)
    assert data["run"]["id"] == runs[1]
    assert [trial["outcome"] for trial in data["trials"]] == ["failed", "passed"]


def test_junit_goes_to_a_file(convoprobe: Convoprobe, runs: list[str], folder: Path) -> None:
    result = convoprobe("report", "--junit", "-o", "out/report.xml")
    assert (result.stdout, result.stderr) == ("", "wrote out/report.xml\n")
    assert '<testsuites name="convoprobe" tests="2"' in (folder / "out/report.xml").read_text(
        encoding="utf-8"
    )


def test_the_suffix_says_what_it_is_to_be(convoprobe: Convoprobe, runs: list[str], folder: Path) -> None:
    for name, begin in (("a.html", "<!doctype html>"), ("a.md", "<!--"), ("a.json", "{"), ("a.xml", "<?xml")):
        assert convoprobe("report", "-o", name).exit_code == 0
        assert (folder / name).read_text(encoding="utf-8").lstrip().startswith(begin)


def test_a_page_has_a_usual_name(convoprobe: Convoprobe, runs: list[str], folder: Path) -> None:
    result = convoprobe("report", "--html")
    assert result.stderr == "wrote convoprobe-report.html\n"
    assert (folder / "convoprobe-report.html").stat().st_size > 10_000


def test_the_schema_is_printed(convoprobe: Convoprobe) -> None:
    assert json.loads(convoprobe("report", "--schema").stdout)["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("arguments", [(), ("-o", "report.txt")])
def test_it_has_to_be_said_what_the_report_is(
    convoprobe: Convoprobe, runs: list[str], arguments: tuple[str, ...]
) -> None:
    result = convoprobe("report", *arguments)
    assert result.exit_code == 2
    assert "--html, --json, --md or --junit" in result.stderr


def test_without_a_run_it_says_what_to_do(convoprobe: Convoprobe) -> None:
    result = convoprobe("report", "--md")
    assert result.exit_code == 2
    assert "run pytest on some scenarios first" in result.stderr


@pytest.mark.parametrize("form", ["--md", "--json", "--junit"])
def test_a_torn_run_says_so(convoprobe: Convoprobe, runs: list[str], folder: Path, form: str) -> None:
    with (folder / ".convoprobe/runs" / runs[1] / "trials-main.jsonl").open("a") as file:
        file.write('{"version": 1, "na')
    result = convoprobe("report", form)
    assert result.stderr == f"note: {runs[1]}: a torn last line in trials-main.jsonl was skipped\n"


def test_a_file_that_cannot_be_written_is_trouble(
    convoprobe: Convoprobe, runs: list[str], folder: Path
) -> None:
    (folder / "taken").write_text("")
    for form in ("--md", "--html"):
        result = convoprobe("report", form, "-o", "taken/report")
        assert result.exit_code == 3
        assert "taken" in result.stderr


def given(severity: Severity, tool: str, issue: str, note: str = "") -> ToolSuggestions:
    return ToolSuggestions((Suggestion("description", tool, issue, "Say more.", severity),), note)


def test_suggestions_are_gathered_by_severity_and_tool(convoprobe: Convoprobe, folder: Path) -> None:
    low, high = (Severity.LOW, "find", "Vague.\n::error::x"), (Severity.HIGH, "buy", "No unit.")
    trials = [failed("a", suggestions=given(*low)), failed("b", suggestions=given(*high, "late"))]
    run = store(folder, 3, [*trials, failed("c", suggestions=given(*high)), failed("d"), passed("e")])
    shown = convoprobe("report", "--suggestions")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[:4] == [
        "high  buy: 2 suggestions from 2 scenarios",
        "    description: No unit.",
        "        Say more.",
        "        from scenarios/b.yaml::b, scenarios/c.yaml::c",
    ]
    assert "    description: Vague. ::error::x" in shown.stdout
    assert "late (1 conversation)" in shown.stdout
    assert shown.stdout.endswith("3 suggestions from 3 of 4 failed conversations\n")
    data = json.loads(convoprobe("report", "--suggestions", "--json").stdout)
    assert (data["run"], data["asked"], data["failed"]) == (run, 3, 4)
    assert [(one["tool"], one["count"]) for one in data["tools"]] == [("buy", 2), ("find", 1)]
    assert data["tools"][0]["suggestions"][0]["scenarios"] == ["scenarios/b.yaml::b", "scenarios/c.yaml::c"]


def test_no_suggestions_and_nobody_asked_are_two_things(convoprobe: Convoprobe, folder: Path) -> None:
    store(folder, 1, [failed("a")])
    assert "judge.suggestions was off" in convoprobe("report", "--suggestions").stdout
    store(folder, 2, [failed("a", suggestions=ToolSuggestions())])
    assert convoprobe("report", "--suggestions").stdout == "no suggestions from 1 of 1 failed conversation\n"
    store(folder, 3, [passed("a")])
    assert "no conversation failed" in convoprobe("report", "--suggestions").stdout
    assert convoprobe("report", "--suggestions", "--html").exit_code == 2
