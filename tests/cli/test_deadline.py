"""Agents that never come back, on the command line: the command ends, and shows where the agent was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import hanging_project

ROOT = Path(__file__).parents[2]


def _convoprobe(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_convoprobe.cli", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


def test_a_command_with_an_agent_that_never_comes_back_ends(tmp_path: Path) -> None:
    hanging_project.write(tmp_path, fine=["starts"], hanging=["sleeps"])
    hangs = _convoprobe(tmp_path, "stability", "scenarios/sleeps.yaml", "--trials", "2", "--replay", "only")
    assert hangs.returncode == 3
    assert "hanging_agents.py:" in hangs.stdout
    assert "2 times: infrastructure" in hangs.stdout
    leaves = _convoprobe(tmp_path, "stability", "scenarios/starts.yaml", "--trials", "1", "--replay", "only")
    assert leaves.returncode == 0
    assert "the thread endless of an agent never ended" in leaves.stderr
    again = _convoprobe(tmp_path, "rerun", "latest", "starts", "--from-turn", "1")
    assert again.returncode in (0, 3)
    assert "echo starts" in again.stdout


@pytest.mark.parametrize(
    ("agent", "message", "advice"),
    [
        ("HangingAgent", "sleeps", "it blocked its event loop"),
        ("HangingAgent", "swallows", "it was cancelled and went on all the same"),
        ("HangingInThread", "waits", "it was waited for in a thread that did not return"),
    ],
)
def test_the_doctor_says_where_an_agent_that_never_comes_back_was(
    tmp_path: Path, agent: str, message: str, advice: str
) -> None:
    target = f"{{type: python, object: 'tests.support.hanging_agents:{agent}'}}"
    (tmp_path / "convoprobe.yaml").write_text(f"target: {target}\nrun: {{turn_timeout: 1}}\n")
    checkup = _convoprobe(tmp_path, "doctor", "--message", message)
    assert checkup.returncode == 1
    found = checkup.stdout.partition("✗ target: ")[2]
    assert "did not return in time: " in found
    assert f"hanging_agents:{agent} gave no reply within 1 s (run.turn_timeout); " in found
    assert "hanging_agents.py:" in found
    assert advice in found
    assert "results: runs are stored in" in found  # the rest is looked at all the same
