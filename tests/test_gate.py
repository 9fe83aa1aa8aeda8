"""The whole gate as a user runs it: real `pytest` processes, real HTTP, a server in place of the models."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .support import warm_process
from .support.chat_server import ChatServer
from .support.default_answers import default_answer

SCENARIO = """\
name: Talk {number}
description: A talk of three turns.
synthetic_user:
  persona: Somebody who asks about {topic}
  initial_query: Hello, what about {topic}?
  max_turns: 3
evaluation:
  correctness_criteria:
    - text: The assistant talks about {topic}
      about: agent
      shows: presence
      opposite: The assistant never talks about {topic}
"""

AGENT = """\
def answer(message):
    return "You said: " + message
"""

NO_LITELLM = """\
import sys

def pytest_sessionfinish():
    assert "litellm" not in sys.modules, "litellm was imported"
"""


class Project:
    """A repository with an agent, settings and scenarios."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        (folder / "agent.py").write_text(AGENT)
        (folder / "pytest.ini").write_text("[pytest]\n")
        self.llm = {"model": "openai/fake", "api_base": url, "api_key": "sk-test-0123456789abcdef"}
        target = {"type": "python", "object": "agent.py:answer"}
        # One conversation of each scenario: these tests are about everything but the gate's policies.
        self._settings: dict[str, Any] = {"llm": self.llm, "target": target, "gate": {"policy": "each"}}
        self.set()
        (folder / "scenarios").mkdir()

    def set(self, **sections: dict[str, Any]) -> None:
        """Write the settings, with these sections in place of those of before."""
        self._settings |= sections
        (self.folder / "convoprobe.yaml").write_text(json.dumps(self._settings))

    def scenarios(self, *topics: str) -> Project:
        for number, topic in enumerate(topics):
            text = SCENARIO.format(number=number, topic=topic)
            (self.folder / "scenarios" / f"talk{number}.yaml").write_text(text)
        return self

    def pytest(self, *arguments: str, plugins: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run it in a process that is spared the import of LiteLLM."""
        words = self.words(*arguments, plugins=plugins)[1:]
        return warm_process.run(*words, cwd=self.folder, env=self.environment)

    def new_pytest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it with an interpreter that has imported nothing before."""
        return subprocess.run(
            [sys.executable, *self.words(*arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def words(self, *arguments: str, plugins: tuple[str, ...] = ()) -> list[str]:
        """What Python is to run."""
        loaded = [word for name in ("convoprobe", *plugins) for word in ("-p", name)]
        return ["-m", "pytest", *loaded, *arguments]

    @property
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "120"}

    @property
    def recordings(self) -> list[Path]:
        return sorted((self.folder / "scenarios").rglob("_recordings/**/*.json"))


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The outcome of each scenario, by the short summary of `-rA`."""
    found = re.findall(r"^(PASSED|FAILED|ERROR) scenarios/(talk\d+)", done.stdout, re.M)
    return {name: outcome for outcome, name in found}


def strict_judge(body: dict[str, Any]) -> Any:
    """The default answers, but whoever is asked about weather has not met it."""
    answer = default_answer(body)
    weather = any("about weather" in str(message.get("content")) for message in body["messages"])
    return answer.replace('"met"', '"not_met"') if weather and isinstance(answer, str) else answer


def test_three_talks_pass_and_their_replay_needs_no_server_and_no_litellm(tmp_path: Path) -> None:
    with ChatServer() as server:
        project = Project(tmp_path, server.base_url).scenarios("trains", "music", "bread")
        done = project.pytest("--convoprobe-replay=record")
        assert done.returncode == 0, done.stdout
        assert "3 passed" in done.stdout
        assert len(server.requests) == 3 * (2 + 1)
    assert len(project.recordings) == 3
    (tmp_path / "conftest.py").write_text(NO_LITELLM)
    done = project.new_pytest("--convoprobe-replay=only")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_a_server_that_fails_a_quarter_of_its_calls_changes_no_verdict(tmp_path: Path) -> None:
    topics = ("weather", "music", "bread", "weather", "tea", "trains", "weather", "birds")
    (tmp_path / "well").mkdir()
    (tmp_path / "ill").mkdir()
    with ChatServer(strict_judge) as well:
        expected = outcomes(Project(tmp_path / "well", well.base_url).scenarios(*topics).pytest("-rA"))
    with ChatServer(strict_judge, rates={"429:0.1": 0.2, "500": 0.05}, seed=4) as ill:
        got = outcomes(Project(tmp_path / "ill", ill.base_url).scenarios(*topics).pytest("-rA"))
        faults = ill.stats()["faults"]
    assert set(expected.values()) == {"PASSED", "FAILED"}
    assert got == expected
    assert set(faults) == {"429:0.1", "500"}


def test_a_provider_that_is_down_is_an_error_and_never_a_failure(tmp_path: Path) -> None:
    with ChatServer(rates={"401": 1.0}) as server:
        done = Project(tmp_path, server.base_url).scenarios("trains").pytest("-rA")
    assert outcomes(done) == {"talk0": "ERROR"}
    assert "infrastructure (not the agent)" in done.stdout
    assert "sk-test-0123456789abcdef" not in done.stdout + done.stderr


def test_auto_calls_only_for_what_is_new_and_records_no_key(tmp_path: Path) -> None:
    with ChatServer() as server:
        project = Project(tmp_path, server.base_url).scenarios("trains")
        project.pytest("--convoprobe-replay=auto")
        before = len(server.requests)
        project.scenarios("trains", "sk-test-0123456789abcdef")
        assert project.pytest("--convoprobe-replay=auto").returncode == 0
        assert (before, len(server.requests)) == (3, 6)
    assert len(project.recordings) == 2
    for recording in project.recordings:
        assert "sk-test-0123456789abcdef" not in recording.read_text("utf-8")


def test_what_the_budget_stops_is_an_error_with_that_word(tmp_path: Path, chat_server: ChatServer) -> None:
    project = Project(tmp_path, chat_server.base_url).scenarios("trains", "music", "bread")
    done = project.pytest("-rA", "--convoprobe-concurrency=1", "--convoprobe-max-tokens=50")
    assert outcomes(done) == {"talk0": "PASSED", "talk1": "ERROR", "talk2": "ERROR"}
    assert "budget" in done.stdout


PRICES = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.002}


def test_what_costs_too_much_is_an_error_with_that_word_and_never_a_failure(tmp_path: Path) -> None:
    with ChatServer(strict_judge) as server:
        project = Project(tmp_path, server.base_url).scenarios("trains", "weather", "weather")
        project.set(llm=project.llm | PRICES)
        # Each call is 10 + 5 tokens, $0.02; a talk is three calls.
        done = project.pytest("-rA", "--convoprobe-concurrency=1", "--convoprobe-max-cost=0.05")
    assert outcomes(done) == {"talk0": "PASSED", "talk1": "ERROR", "talk2": "ERROR"}
    assert "$0.0600 spent of run.max_cost 0.05" in done.stdout
    assert "for this run: --convoprobe-max-cost\n" in done.stdout
    assert len(re.findall("^ERROR .* budget: ", done.stdout, re.M)) == 2
    assert len(server.requests) == 3


def test_a_run_that_is_killed_leaves_no_broken_file(tmp_path: Path) -> None:
    topics = tuple(f"topic number {number}" for number in range(30))
    with ChatServer(latency=0.03) as server:
        project = Project(tmp_path, server.base_url).scenarios(*topics)
        running = subprocess.Popen(
            [
                warm_process.executable(),
                *project.words("--convoprobe-replay=record", "--convoprobe-concurrency=4"),
            ],
            cwd=tmp_path,
            env=project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        _until(lambda: len(project.recordings) >= 5)
        running.send_signal(signal.SIGKILL)
        running.communicate()  # until nobody is there who could write
    recorded = project.recordings
    assert len(recorded) >= 5
    for recording in recorded:
        json.loads(recording.read_text("utf-8"))
    names = "|".join(path.parent.name for path in recorded)
    done = project.pytest("-rA", "--convoprobe-replay=only")
    replayed = {name for name, outcome in outcomes(done).items() if outcome == "PASSED"}
    assert replayed == set(names.split("|"))


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "nothing happened for a minute"
        time.sleep(0.02)


def test_recording_works_in_several_processes(tmp_path: Path, chat_server: ChatServer) -> None:
    topics = tuple(f"topic {number}" for number in range(4))
    project = Project(tmp_path, chat_server.base_url).scenarios(*topics)
    done = project.pytest("-n2", "--convoprobe-replay=record", plugins=("xdist.plugin",))
    assert done.returncode == 0, done.stdout
    assert len(project.recordings) == 4
    assert project.pytest("--convoprobe-replay=only").returncode == 0
