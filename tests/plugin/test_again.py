"""The command under a failure, pasted back by a person whose terminal can't show everything."""

from __future__ import annotations

import re
import shlex

import pytest

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


def ran(suite: Suite, command: list[str]) -> list[str]:
    """The names of the scenarios that the command runs."""
    (suite.path / "talk.log").unlink(missing_ok=True)
    suite.run(*command[1:])
    return suite.started()
