"""The past in the repository: `_baseline.json` beside the scenarios, from its making to a red run."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_convoprobe.cli import main
from pytest_convoprobe.gate.types import Decision
from pytest_convoprobe.results.store import open_run

from ..results.test_pasts import commits
from .suite import Suite

FILE = "scenarios/_baseline.json"


def convoprobe(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == status, result.output
    return result.output


def change(suite: Suite, name: str, *outcomes: str, **keys: object) -> None:
    (suite.path / f"scenarios/{name}.yaml").unlink()
    suite.scenario(name, outcomes=list(outcomes), **keys)


def decided(suite: Suite, name: str) -> Decision:
    run = max(Path(suite.path, ".convoprobe", "runs").iterdir())
    return open_run(run).decisions()[f"scenarios/{name}.yaml::{name}"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made") / "_baseline.json"


@pytest.fixture
def project(suite: Suite, made: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Two scenarios and their past in the repository, without any stored run. `flaky` failed in 4 of 20."""
    suite.scenario("one")
    suite.scenario("flaky", outcomes=["failed", "passed"] * 4 + ["passed"])
    monkeypatch.chdir(suite.path)
    if not made.exists():
        suite.run("--convoprobe-trials=20").assert_outcomes(passed=36, failed=4)
        assert "wrote scenarios/_baseline.json" in convoprobe("baseline", "update")
        shutil.copy(suite.path / FILE, made)
        shutil.rmtree(suite.path / ".convoprobe")
        (suite.path / "talk.log").unlink()
    else:
        shutil.copy(made, suite.path / FILE)
    suite.gate = "auto"
    return suite


def test_the_file_is_the_past_without_any_stored_run(project: Suite) -> None:
    assert not (project.path / ".convoprobe").exists()
    result = project.run("--junitxml=j.xml")
    result.assert_outcomes(passed=1, xfailed=1)
    assert result.ret == 0
    past = decided(project, "flaky").past
    assert past is not None
    assert (past.failed, past.talks) == (4, 20)
    assert past.source.startswith("scenarios/_baseline.json of 20")
    cases = {case.get("name"): case for case in ET.parse(project.path / "j.xml").iter("testcase")}
    found = {one.get("name"): one.get("value") for one in cases["flaky"].iter("property")}
    assert (found["convoprobe_base_failed"], found["convoprobe_base_talks"]) == ("4", "20")
    assert found["convoprobe_decision"].endswith("base 4 of 20: as before")
    assert "convoprobe_e_value" in found
    assert "Conversations: gate green" in convoprobe("report", "--md")
    convoprobe("check")


def test_a_scenario_that_breaks_is_red_and_does_not_become_the_past(project: Suite) -> None:
    before = (project.path / FILE).read_bytes()
    change(project, "one", "failed")
    result = project.run()
    result.assert_outcomes(failed=1, xfailed=1)
    assert result.ret == 1
    assert "base 0 of 20: more often than before" in convoprobe("check", status=1)
    assert "was red on scenarios/one.yaml::one" in convoprobe("baseline", "update")
    entries = json.loads((project.path / FILE).read_text())["scenarios"]
    assert entries["one.yaml::one"] == json.loads(before)["scenarios"]["one.yaml::one"]
    convoprobe("baseline", "accept", "one", "--reason", "#12: it refuses now")
    result = project.run()
    result.assert_outcomes(xfailed=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*a change was accepted on 20*: #12: it refuses now; 2 conv*"])
    result.stdout.no_fnmatch_line("*gate.max_talks*")


def test_a_quarantine_blocks_nothing_until_it_ends(project: Suite) -> None:
    change(project, "one", "failed", gate={"mode": "quarantine", "expires": "2999-01-31", "reason": "#1"})
    result = project.run()
    result.assert_outcomes(xfailed=2)
    assert decided(project, "one").mode == "quarantine"
    change(project, "one", "failed", gate={"mode": "quarantine", "expires": "2020-01-31", "reason": "#1"})
    result = project.run()
    result.assert_outcomes(failed=1, xfailed=1)
    result.stdout.fnmatch_lines(["*quarantine ended on 2020-01-31, so it blocks again: #1"])


def test_a_changed_scenario_is_decided_by_confirm_and_says_so(project: Suite) -> None:
    text = (project.path / "scenarios/one.yaml").read_text()
    (project.path / "scenarios/one.yaml").write_text(text.replace("Somebody", "Somebody else"))
    result = project.run()
    assert decided(project, "one").policy == "confirm"
    result.stdout.fnmatch_lines(["*changed since scenarios/_baseline.json: scenario; decided by confirm"])


def test_a_broken_file_is_not_taken_for_no_baseline(project: Suite) -> None:
    (project.path / FILE).write_text("{\n<<<<<<< HEAD\n")
    result = project.run()
    assert result.ret not in (0, 5)
    result.stdout.no_fnmatch_line("*passed*")
    output = result.stdout.str() + result.stderr.str()
    assert "scenarios/_baseline.json:2: a merge left its marks here" in output
    assert not (project.path / "talk.log").exists()


def test_the_file_may_be_named(project: Suite) -> None:
    (project.path / FILE).rename(project.path / "main.json")
    content = (project.path / "main.json").read_text().replace('"flaky.yaml', '"scenarios/flaky.yaml')
    (project.path / "main.json").write_text(content)
    result = project.run("--convoprobe-baseline=main.json")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    past = decided(project, "flaky").past
    assert past is not None
    assert (past.failed, past.talks) == (4, 20)
    raw = project.run("--convoprobe-baseline=main.json", "--convoprobe-fail-on=regression")
    assert raw.ret == pytest.ExitCode.USAGE_ERROR
    (project.path / "main.json").write_text("{")
    broken = project.run("--convoprobe-baseline=main.json")
    assert broken.ret == pytest.ExitCode.USAGE_ERROR
    assert "main.json:1:2: it is not whole JSON" in broken.stderr.str()


def test_a_branch_means_the_runs_of_its_history(suite: Suite) -> None:
    """Main moved on since its last run, as it does between two nights."""
    suite.scenario("one")
    commits(suite.path, 1)
    suite.run("--convoprobe-trials=8").assert_outcomes(passed=8)
    commits(suite.path, 1)
    suite.gate = "auto"
    result = suite.run("--convoprobe-baseline=main")
    result.assert_outcomes(passed=1)
    past = decided(suite, "one").past
    assert past is not None
    assert (past.failed, past.talks) == (0, 8)
    unknown = suite.run("--convoprobe-baseline=elsewhere")
    assert unknown.ret == pytest.ExitCode.USAGE_ERROR
