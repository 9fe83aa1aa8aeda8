"""The command under a failure, pasted back by a person whose terminal can't show everything."""

from __future__ import annotations

import re
import shlex

import pytest

from pytest_convoprobe.reports.html import html_chunks
from pytest_convoprobe.reports.junit import junit
from pytest_convoprobe.reports.run_report import read_report
from pytest_convoprobe.results.store import list_runs

from .suite import Suite

NAMES = ("Ünïcode … in Köln", "漢字 and Gruß, one", "漢字 and Gruß, two", "漢字", "plain one")
SELECTIONS = {
    "cp1252": [f"scenarios/all.yaml::{NAMES[0]}"],  # it can show all of this name
    "ascii": ["scenarios/all.yaml", "-k", "n and code and in and K and ln"],
}
"""What the command for the first of them selects."""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_each_command_runs_its_scenario_or_its_file(suite: Suite, encoding: str) -> None:
    for name in NAMES:
        suite.scenario(name, file="scenarios/all.yaml", outcome="failed")
    shown = suite.run_on_terminal(encoding)
    commands = [shlex.split(line) for line in re.findall(r"^run again: (.+)$", shown, re.M)]
    assert commands[0] == ["pytest", *SELECTIONS[encoding]]
    assert commands[-1] == ["pytest", "scenarios/all.yaml::plain one"]
    for name, command in zip(NAMES, commands, strict=True):
        whole_file = name == "漢字"  # nothing of this name can be typed
        assert ran(suite, command) == (list(NAMES) if whole_file else [name])


def test_a_recording_that_does_not_fit_is_recorded_again(suite: Suite) -> None:
    """In the terminal, in JUnit, and on the page, with this scenario alone and no contradicting option."""
    suite.scenario("stale", outcome="error", blame="recording", reason="the system prompt changed")
    shown = suite.run("--convoprobe-replay=only", "--convoprobe-trials=2").stdout.str()
    commands = [shlex.split(line) for line in re.findall(r"^record again: (.+)$", shown, re.M)]
    second = ["scenarios/stale.yaml::stale[trial-2]", "--convoprobe-trials=2"]
    assert commands == [
        ["pytest", "scenarios/stale.yaml::stale", "--convoprobe-replay=record"],
        ["pytest", *second, "--convoprobe-replay=record"],
    ]
    assert "2 errors (recording)" in shown
    report = read_report(list_runs(suite.path / ".convoprobe")[-1].open())
    stored = [line.strip().removeprefix("record again: ") for line in junit(report).splitlines()]
    for words in commands:
        assert shlex.join(words) in stored
    assert ">Record again</dt>" in "".join(html_chunks(report))


def ran(suite: Suite, command: list[str]) -> list[str]:
    """The names of the scenarios that the command runs."""
    (suite.path / "talk.log").unlink(missing_ok=True)
    suite.run(*command[1:])
    return suite.started()
