"""A scenario that passed on a later attempt: all attempts are counted, paid for and named everywhere."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pytest_convoprobe.cli.app import main
from pytest_convoprobe.reports.html.page import context
from pytest_convoprobe.reports.json_report import json_report
from pytest_convoprobe.reports.junit import junit
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.reports.run_report import RunReport, read_report
from pytest_convoprobe.results.store import list_runs

from .suite import Suite


@pytest.fixture
def rerun(suite: Suite) -> tuple[str, RunReport]:
    """What the terminal showed of a scenario that passed on its third attempt, and the stored run."""
    suite.scenario("Refund", outcome="failed", until_run=2)
    shown = suite.run_process("--reruns=2", "--junitxml=out.xml", plugins=["pytest_rerunfailures"])
    shown.assert_outcomes(passed=1)
    return shown.stdout.str(), read_report(list_runs(suite.path / ".convoprobe")[0].open())


def cli(suite: Suite, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.chdir(suite.path)
    return CliRunner().invoke(main, words).stdout


def test_every_report_has_all_attempts(
    suite: Suite, rerun: tuple[str, RunReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal, report = rerun
    assert "\npassed   Refund (attempt 3 of 3)\n" in terminal
    assert "spent: $0.0060, 360 tokens in 3 calls" in terminal
    text = markdown(report)
    assert "Passed on a later attempt: Refund (attempt 3 of 3)." in text
    assert "360 tokens" in text
    data = json_report(report)
    assert data["trials"][0]["attempts"] == 3
    assert data["totals"]["spent"]["judge"]["prompt_tokens"] == 300
    assert data["run"]["reruns"] == 2
    row = context(report)["rows"][0]
    assert (row.trial, row.cost) == ("attempt 3 of 3", "$0.0060")
    for xml in (junit(report), (suite.path / "out.xml").read_text()):
        assert 'name="convoprobe_attempts" value="3"' in xml
        assert 'name="convoprobe_tokens" value="360"' in xml
    (listed,) = json.loads(cli(suite, monkeypatch, "runs", "--json"))
    assert (listed["counts"], listed["reruns"]) == ({"passed": 1}, 2)
    for command in (("runs",), ("trends",), ("trends", "--scenario", "Refund")):
        assert "RERUNS" in cli(suite, monkeypatch, *command)
    (trend,) = json.loads(cli(suite, monkeypatch, "trends", "--json"))
    assert (trend["points"][0]["reruns"], trend["points"][0]["cost"]) == (2, pytest.approx(0.006))
    assert "ATTEMPTS" in cli(suite, monkeypatch, "show", "latest")
    assert "PASSED  Refund (attempt 3 of 3)" in cli(suite, monkeypatch, "show", "latest", "Refund")


def test_what_an_ordinary_test_ran_before_its_last_attempt_is_paid_for(suite: Suite) -> None:
    suite.scenario("one", file="one.yml", outcome="failed", until_run=1)
    suite.scenario("two", file="two.yml")
    suite.write(
        "test_it.py",
        """
        import pathlib

        def test_it(convoprobe):
            before = pathlib.Path("again").exists()
            pathlib.Path("again").touch()
            if not before:
                convoprobe.run("two.yml")
            convoprobe.run("one.yml").assert_passed()
        """,
    )
    shown = suite.run_process("test_it.py", "--reruns=2", plugins=["pytest_rerunfailures"])
    shown.stdout.fnmatch_lines(["passed   one (attempt 2 of 2)", "spent: $0.0060, 360 tokens in 3 calls*"])


def test_an_attempt_that_broke_before_its_conversation_is_counted_too(suite: Suite) -> None:
    suite.conftest(
        """
        import pathlib

        @pytest.fixture
        def convoprobe_target():
            before = pathlib.Path("again").exists()
            pathlib.Path("again").touch()
            assert before
            return lambda message: "echo " + message
        """,
        target="",
    )
    suite.scenario("one")
    shown = suite.run_process("--reruns=1", plugins=["pytest_rerunfailures"])
    shown.stdout.fnmatch_lines(["passed   one (attempt 2 of 2)"])
    assert read_report(list_runs(suite.path / ".convoprobe")[0].open()).results[0].attempts == 2
