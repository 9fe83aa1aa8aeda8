"""The example of docs/how-to/agents-that-call-models.md passes with its recording: no key, no network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import warm_process

from .record_demo import copied

ROOT = Path(__file__).parents[2]

NO_NETWORK = """\
import sys

def nothing_but_loopback(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        assert arguments[1][0] == "127.0.0.1", arguments[1]

sys.addaudithook(nothing_but_loopback)
"""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    copied(tmp_path)
    (tmp_path / "conftest.py").write_text(NO_NETWORK)
    return tmp_path


def replayed(folder: Path) -> str:
    """What pytest prints."""
    environment = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    environment["PYTHONPATH"] = str(ROOT)
    words = ("-p", "no:cacheprovider", "scenarios", "--convoprobe-replay=only")
    return warm_process.run("pytest", *words, cwd=folder, env=environment).stdout


def test_the_example_is_replayed_without_key_and_network(example: Path) -> None:
    said = replayed(example)
    assert "2 passed" in said, said


def test_an_agent_that_no_longer_looks_up_is_not_passed(example: Path) -> None:
    agent = example / "agent.py"
    agent.write_text(agent.read_text().replace("Look an order up before you speak about it.", ""))
    said = replayed(example)
    assert "2 errors" in said, said
    assert "the system prompt changed" in said
