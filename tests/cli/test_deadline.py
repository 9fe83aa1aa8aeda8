"""Agents that never come back, on the command line: each command ends, and shows where the agent was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support import hanging_project, warm_process


def _convoprobe(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(warm_process.ROOT)}
    return warm_process.run("pytest_convoprobe.cli", *words, cwd=folder, env=env)


@pytest.mark.parametrize("how", hanging_project.HANGING)
def test_stability_and_rerun_end_and_say_where_the_agent_was(tmp_path: Path, how: str) -> None:
    hanging_project.write(tmp_path, fine=(), hanging=[how])
    tried = _convoprobe(tmp_path, "stability", f"scenarios/{how}.yaml", "--trials", "2")
    assert tried.returncode == 3
    assert "2 times: infrastructure" in tried.stdout
    again = _convoprobe(tmp_path, "rerun", "latest", how, "--trial", "1", "--from-turn", "1")
    assert again.returncode == 3
    for done in (tried, again):
        assert "hanging_agents.py:" in done.stdout
        assert "did not return in time" in " ".join(done.stdout.split())


def test_a_thread_that_never_ends_keeps_no_command_from_ending(tmp_path: Path) -> None:
    hanging_project.write(tmp_path, fine=["starts"], hanging=(), turn_timeout=60)
    tried = _convoprobe(tmp_path, "stability", "scenarios/starts.yaml", "--trials", "1", "--replay", "only")
    assert tried.returncode == 0
    again = _convoprobe(tmp_path, "rerun", "latest", "starts", "--from-turn", "1")
    assert again.returncode in (0, 3)
    assert "echo starts" in again.stdout
    asked = _convoprobe(tmp_path, "doctor", "--message", "starts")
    assert "✓ target: " in asked.stdout
    for done in (tried, again, asked):
        assert "the thread endless of an agent never ended" in done.stderr


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("sleeps", "it blocked its event loop"),
        ("swallows", "it was cancelled and went on all the same"),
        ("waits", "it was waited for in a thread that did not return"),
    ],
)
def test_the_doctor_says_where_an_agent_that_never_comes_back_was(
    tmp_path: Path, message: str, advice: str
) -> None:
    target = "{type: python, object: 'tests.support.hanging_agents:HangingInEveryWay'}"
    (tmp_path / "convoprobe.yaml").write_text(f"target: {target}\nrun: {{turn_timeout: 1}}\n")
    checkup = _convoprobe(tmp_path, "doctor", "--message", message)
    assert checkup.returncode == 1
    found = checkup.stdout.partition("✗ target: ")[2]
    assert "did not return in time: " in found
    assert "gave no reply within 1 s (run.turn_timeout); " in found
    assert "hanging_agents.py:" in found
    assert advice in found
    assert "results: runs are stored in" in found  # the rest is looked at all the same
