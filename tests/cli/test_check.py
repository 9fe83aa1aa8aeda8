"""`convoprobe check`: a run is evidence only if it is whole."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.run_info import RunInfo, RunState, Selection

from .conftest import Convoprobe
from .stored import START, failed, passed, store

ERROR = passed("two", criteria=(), outcome=Outcome.ERROR, blame=Blame.INFRASTRUCTURE, reason="it is down")


def in_state(folder: Path, run: str, state: RunState) -> None:
    """Rewrite how a stored run ended."""
    file = folder / ".convoprobe" / "runs" / run / "run.json"
    info = RunInfo.from_json(json.loads(file.read_text()))
    file.write_text(json.dumps(replace(info, state=state).to_json()))


def test_a_whole_run_that_passed(folder: Path, convoprobe: Convoprobe) -> None:
    run = store(folder, 1, [passed("one"), passed("two")], selection=Selection(2, 2, 2))
    result = convoprobe("check")
    assert result.exit_code == 0
    assert result.output == f"{run}: finished, 2 passed\n"


def test_what_is_not_known_is_said(folder: Path, convoprobe: Convoprobe) -> None:
    """An earlier release did not store the selection."""
    run = store(folder, 1, [passed("one")])
    result = convoprobe("check")
    assert result.exit_code == 0
    assert f"note: how many trials {run} selected is not known" in result.output


def test_a_run_that_broke_off(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one")])
    store(folder, 2, [passed("one")], ended=False, selection=Selection(2, 2, 2))
    result = convoprobe("check", "latest")
    assert result.exit_code == 1
    assert "  the run broke off: its process ended without a word" in result.output
    assert "  2 trials selected, and 1 stored" in result.output


@pytest.mark.parametrize(
    ("state", "words"),
    [(RunState.STOPPED, "the run was stopped early"), (RunState.INTERRUPTED, "the run was interrupted")],
)
def test_a_run_that_did_not_finish(folder: Path, convoprobe: Convoprobe, state: RunState, words: str) -> None:
    in_state(folder, store(folder, 1, [passed("one")]), state)
    result = convoprobe("check", "--allow-failures")
    assert result.exit_code == 1
    assert words in result.output


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        ([passed("one"), failed("two")], "1 trial failed"),
        ([passed("one"), ERROR], "1 trial ended in an error, without a verdict"),
    ],
)
def test_a_run_with_failures(folder: Path, convoprobe: Convoprobe, trials: list, words: str) -> None:
    store(folder, 1, trials)
    assert words in convoprobe("check").output
    assert convoprobe("check").exit_code == 1
    assert convoprobe("check", "--allow-failures").exit_code == 0


def test_too_few_scenarios(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), passed("one", trial=2), ERROR])
    result = convoprobe("check", "--min-scenarios", "2", "--allow-failures")
    assert result.exit_code == 1
    assert "1 scenario with a verdict, and at least 2 expected" in result.output
    assert convoprobe("check", "--min-scenarios", "0").exit_code == 2


def test_nothing_that_was_judged_is_not_enough(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one", outcome=Outcome.SKIPPED)])
    assert "0 scenarios with a verdict, and at least 1 expected" in convoprobe("check").output


def test_scenarios_inside_tests_are_not_those_that_were_selected(
    folder: Path, convoprobe: Convoprobe
) -> None:
    inside = passed("two", scenario_id="test_it.py::test_two::two")
    store(folder, 1, [passed("one"), inside], selection=Selection(3, 3, 2))
    assert "2 trials selected, and 1 stored" in convoprobe("check").output


def test_lost_trials(folder: Path, convoprobe: Convoprobe) -> None:
    run = store(folder, 1, [passed("one"), passed("two")])
    for file in (folder / ".convoprobe" / "runs" / run).glob("*.jsonl"):
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:1]))
    result = convoprobe("check")
    assert result.exit_code == 1
    assert "1 trial missing from the stored results" in result.output


def test_an_older_run_is_not_one_of_this_commit(folder: Path, convoprobe: Convoprobe) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], cwd=folder, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    )
    store(folder, 1, [passed("one")], commit=head.stdout.strip())
    assert convoprobe("check", "--commit", "HEAD").exit_code == 0
    store(folder, 2, [passed("one")], commit="a" * 40)
    result = convoprobe("check", "latest", "--commit", "HEAD")
    assert result.exit_code == 1
    assert f"the run is of commit {'a' * 12}, and HEAD is {head.stdout[:12]}" in result.output
    assert convoprobe("check", "--commit", "nowhere").exit_code == 2


def test_no_runs(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("check")
    assert result.exit_code == 2
    assert "there are no stored runs" in result.output


def test_json(folder: Path, convoprobe: Convoprobe) -> None:
    run = store(folder, 1, [failed("one")])
    found = json.loads(convoprobe("check", "--json").stdout)
    assert found == {"run": run, "state": "finished", "ok": False, "findings": ["1 trial failed"]}


@pytest.mark.parametrize(("shift", "status"), [(0, 0), (-60, 0), (60, 1)])
@pytest.mark.parametrize("form", ["seconds", "date", "zone"])
def test_a_run_that_is_older_than_the_job(
    folder: Path, convoprobe: Convoprobe, shift: int, status: int, form: str
) -> None:
    store(folder, 1, [passed("one")])
    wanted = datetime.fromtimestamp(START + shift, timezone(timedelta(hours=2)))
    words = {
        "seconds": str(int(START) + shift),
        "date": wanted.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "zone": wanted.isoformat(),
    }
    result = convoprobe("check", "latest", "--since", words[form])
    assert result.exit_code == status
    assert ("nothing is stored since then" in result.output) is bool(status)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-29T10:15:00", "-5", "nan"])
def test_a_time_that_says_nothing(folder: Path, convoprobe: Convoprobe, text: str) -> None:
    store(folder, 1, [passed("one")])
    result = convoprobe("check", "latest", f"--since={text}")
    assert result.exit_code == 2
    assert "expected seconds since 1970, or a date and time with a zone" in result.output
