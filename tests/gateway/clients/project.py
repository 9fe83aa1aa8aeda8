"""A stranger's project with an agent that calls a model itself: recorded live, replayed with no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_convoprobe.results.lookup import list_runs
from pytest_convoprobe.results.reading import open_run
from pytest_convoprobe.transcript import Transcript
from tests.support import warm_process

AGENTS = Path(__file__).with_name("agents")
KEY = "sk-of-the-agent-0123456789abcdef"
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
SCENARIOS, TRIALS = 3, 2

_SCENARIO = """\
name: Order {number}
description: A customer asks for an order, and says thanks.
synthetic_user:
  persona: A customer.
  initial_query: 'Where is it? call {tool} {{"order": "A{number}"}}'
  script: ['Thank you for A{number}.']
evaluation:
  correctness_criteria:
    - text: The agent says where the order is
      about: agent
      shows: presence
      opposite: The agent never says where the order is
"""

# For the processes of a replay: whatever isn't on loopback fails, whoever connects, as with no network.
_NO_NETWORK = """\
import os, sys

def only_loopback(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        if arguments[1][0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"the network is off: {arguments[1][0]}")
    if event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", "localhost", None):
        raise OSError(f"the network is off: {arguments[0]}")

if os.environ.get("NO_NETWORK"):
    sys.addaudithook(only_loopback)
"""


@dataclass(frozen=True)
class Run:
    """What one run of pytest came to; each sorted, since conversations end in any order."""

    code: int
    output: str
    outcomes: tuple[str, ...]
    talks: tuple[str, ...]
    seen: Counter[bytes]


@dataclass
class ModelProject:
    """The project's folder. `environment` is added to that of each run; `tool` is what customers ask for.

    Without `warm`, each run is a process that has imported nothing before.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    tool: str = "lookup"
    warm: bool = True

    def __post_init__(self) -> None:
        (self.folder / "scenarios").mkdir()
        (self.folder / "pytest.ini").write_text("[pytest]\n")
        (self.folder / "conftest.py").write_text(_NO_NETWORK)
        for number in range(1, SCENARIOS + 1):
            text = _SCENARIO.format(number=number, tool=self.tool)
            (self.folder / "scenarios" / f"order{number}.yaml").write_text(text)
        for file in AGENTS.iterdir():
            if file.is_file():
                shutil.copy(file, self.folder)

    def set(self, target: Mapping[str, Any], models: Mapping[str, str], judge: str) -> None:
        """Write the settings: a target, the providers that its agent calls, and where our own model is."""
        llm = {"model": "openai/fake", "api_base": judge, "api_key": "${JUDGE_KEY:-none}"}
        settings = {
            "llm": llm,
            "target": {**target, "models": dict(models)},
            "gate": {"policy": "each"},
            "run": {"concurrency": 4},
        }
        (self.folder / "convoprobe.yaml").write_text(json.dumps(settings))

    def run(self, mode: str, *arguments: str, keys: Mapping[str, str] = KEYS, **more: str) -> Run:
        """Run pytest; afterwards, what the agents have seen since then."""
        seen = self.folder / "seen"
        shutil.rmtree(seen, ignore_errors=True)
        seen.mkdir()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
            "PYTHONPATH": os.pathsep.join((str(Path(__file__).parents[3]), str(self.folder))),
            "SEEN": str(seen),
            **self.environment,
            **keys,
            **more,
        }
        words = (
            "-p",
            "no:cacheprovider",
            "-s",
            "scenarios",
            f"--convoprobe-replay={mode}",
            f"--convoprobe-trials={TRIALS}",
            *arguments,
        )
        done = (warm_process.run if self.warm else _run)("pytest", *words, cwd=self.folder, env=environment)
        got = Counter(content for file in seen.iterdir() if (content := file.read_bytes()))
        return Run(done.returncode, done.stdout + done.stderr, *self._results(), got)

    def replay(self, *arguments: str) -> Run:
        """The same without a key, and without a network."""
        return self.run("only", *arguments, keys={}, NO_NETWORK="yes")

    @property
    def recordings(self) -> dict[str, bytes]:
        """What is stored beside the scenarios."""
        folder = self.folder / "scenarios" / "_recordings"
        return {path.name: path.read_bytes() for path in folder.rglob("*.json")}

    def everything(self) -> bytes:
        """All that the run left on the disk, but for what the agents keep themselves."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and "seen" not in path.parts)
        return b"\n".join(path.read_bytes() for path in files)

    def _results(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        found = list_runs(self.folder / ".convoprobe")
        if not found:
            return (), ()
        run = open_run(found[0].path)
        results = [run.trial(row).result for row in run.rows()]
        outcomes = (f"{one.scenario_id} {one.trial} {one.outcome.value} {one.reason}" for one in results)
        talks = (f"{one.scenario_id} {one.trial} {said(one.transcript)}" for one in results)
        return tuple(sorted(outcomes)), tuple(sorted(talks))


def _run(module: str, *words: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)


def said(transcript: Transcript) -> list[Any]:
    """What was said and done, without how long it took."""
    return [
        (turn.user, turn.reply.text, turn.reply.usage, [_call(call) for call in turn.reply.tool_calls or ()])
        for turn in transcript.turns
    ]


def _call(call: Any) -> tuple[Any, ...]:
    return call.name, dict(call.arguments), call.result, call.error, call.fault


def assert_passed(run: Run) -> None:
    """All trials passed."""
    assert run.code == 0, run.output
    assert len(run.outcomes) == SCENARIOS * TRIALS, run.output
    assert all(" passed " in outcome for outcome in run.outcomes), run.output


def assert_same(live: Run, replayed: Run, *, seen: bool = True) -> None:
    """The replay came to the same verdicts and transcripts, and gave the agent the same bytes.

    Not every agent keeps what it has `seen`.
    """
    assert replayed.code == 0, replayed.output
    assert replayed.outcomes == live.outcomes
    assert replayed.talks == live.talks
    if not seen:
        return
    assert replayed.seen == live.seen
    assert sum(live.seen.values()) == SCENARIOS * TRIALS
