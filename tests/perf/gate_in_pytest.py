"""How often the paired gate is wrong, end to end: pytest, the judge's calls over HTTP, stored baselines.

    python -m tests.perf.gate_in_pytest [--runs 100] [--seed 1]

A judge on loopback errs on 5 % of what it is asked, each call by itself. The agent never changes. Twenty
scenarios are compared with a stored run of twenty conversations each, which the same judge has judged. Half
of the runs have one scenario that is broken for good. Simulations with more suites are in `gate_error.py`;
this shows that the whole product does what they say.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import warm_process
from tests.support.chat_server import ChatServer
from tests.support.default_answers import default_answer

SCENARIOS, TALKS, ERRS = 20, 20, 0.05
MOST_FALSE_RED, LEAST_FOUND = 0.03, 0.90
_PER_BASELINE = 20
"""Runs that share a baseline: each baseline is judged by the same judge, and may be unlucky."""

_SAID = "The code is BLUE."
_AGENT = f"""\
import os

def answer(message):
    broken = os.environ.get("BROKEN")
    return "I can't say." if broken and message.endswith(f" {{broken}}") else "{_SAID}"
"""
_SCENARIO = """\
name: Code {number}
description: The agent knows the code.
synthetic_user: {{persona: Somebody, initial_query: What is the code of door {number}, max_turns: 1}}
evaluation:
  correctness_criteria:
    - text: The agent says that the code is BLUE
      about: agent
      shows: presence
      opposite: The agent never says that the code is BLUE
"""


class Judge:
    """Says what is true of a conversation, but for a share of its answers. `calls` counts them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.calls = 0

    def answer(self, body: Mapping[str, Any]) -> str:
        """The reply to one call: a verdict, or whatever else is asked."""
        prompt = "\n".join(str(one.get("content") or "") for one in body.get("messages", ()))
        question = re.search(r"^\[(c\d+)\] (\w+).*$", prompt, re.MULTILINE)
        if question is None or "You examine a finished conversation" not in prompt:
            return str(default_answer(body))
        self.calls += 1
        return json.dumps({question[1]: self._verdict(question, prompt)})

    def _verdict(self, question: re.Match[str], prompt: str) -> dict[str, Any]:
        said = (_SAID in prompt) != (self._random.random() < ERRS)
        opposite = "never says" in question[0]
        words = ("true", "false") if question[2] == "statement" else ("met", "not_met")
        return {
            "finding": "It says the code." if said else "It doesn't say the code.",
            "quote": _SAID if said else None,
            "turn": 1 if said else None,
            "absence": not said,
            "verdict": words[0] if said != opposite else words[1],
        }


@dataclass(frozen=True)
class Run:
    """One run of pytest: its exit status, how many conversations it had, and what it printed."""

    status: int
    talks: int
    output: str

    @property
    def red(self) -> bool:
        """Whether the gate was. Anything else that goes wrong ends the measuring."""
        if self.status not in (0, 1) or " error" in self.output.splitlines()[-1]:
            raise SystemExit(f"this run is no evidence:\n{self.output}")
        return self.status == 1


class Suite:
    """The project in a folder, whose models are all at `url`."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        model = {"model": "openai/fake", "api_base": url, "api_key": "none"}
        target = {"type": "python", "object": "agent.py:answer"}
        folder.joinpath("convoprobe.yaml").write_text(json.dumps({"llm": model, "target": target}))
        folder.joinpath("pytest.ini").write_text("[pytest]\n")
        folder.joinpath("agent.py").write_text(_AGENT)
        folder.joinpath("scenarios").mkdir()
        for number in range(1, SCENARIOS + 1):
            text = _SCENARIO.format(number=number)
            folder.joinpath(f"scenarios/code{number}.yaml").write_text(text)

    def baseline(self) -> str:
        """The id of a new stored run with all conversations that a baseline has."""
        self._pytest(f"--convoprobe-trials={TALKS}")
        return max(path.name for path in self._folder.joinpath(".convoprobe/runs").iterdir())

    def run(self, baseline: str, *, broken: int | None = None) -> Run:
        """A run that is compared with the baseline; `broken` is the number of a scenario that fails."""
        done = self._pytest(f"--convoprobe-baseline={baseline}", broken=str(broken or ""))
        found = re.search(r"(\d+) conversations", done.stdout.rpartition("gate (")[2])
        return Run(done.returncode, int(found[1]) if found else 0, done.stdout + done.stderr)

    def _pytest(self, *words: str, broken: str = "") -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "BROKEN": broken}
        options = ("-p", "convoprobe", "-p", "no:cacheprovider", "--tb=no")
        return warm_process.run("pytest", *options, *words, cwd=self._folder, env=env)


def main() -> None:
    """Measure, and print each figure beside its bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=100, help="runs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    judge = Judge(asked.seed)
    with tempfile.TemporaryDirectory() as folder, ChatServer(judge.answer, routine=False) as server:
        unchanged, broken = _measured(Suite(Path(folder), server.base_url), asked.runs)
    _print("false red, unchanged agent", unchanged, f"at most {MOST_FALSE_RED:.0%}")
    _print("red, one scenario broken for good", broken, f"at least {LEAST_FOUND:.0%}")


def _measured(suite: Suite, runs: int) -> tuple[list[Run], list[Run]]:
    unchanged: list[Run] = []
    broken: list[Run] = []
    baseline, began = "", time.perf_counter()
    for number in range(runs):
        if number % _PER_BASELINE == 0:
            baseline = suite.baseline()
        unchanged.append(suite.run(baseline))
        broken.append(suite.run(baseline, broken=1 + number % SCENARIOS))
        _ = unchanged[-1].red, broken[-1].red
    sys.stdout.write(f"{2 * runs} runs in {time.perf_counter() - began:.0f} s\n")
    return unchanged, broken


def _print(what: str, runs: list[Run], bar: str) -> None:
    red, talks = sum(run.red for run in runs), sum(run.talks for run in runs)
    cost = f"{talks / len(runs) / SCENARIOS:.2f} conversations a scenario"
    sys.stdout.write(f"{what}: {red} of {len(runs)} ({bar}); {cost}\n")


if __name__ == "__main__":
    main()
