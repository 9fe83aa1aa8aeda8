"""The loopback server in a process of its own, and whole runs of pytest whose models are there."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import projects
from .measure import Measured, pytest_command, run

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = {"PYTHONPATH": str(REPOSITORY)}
LATENCY = 0.2
CONCURRENCY = 50


@contextmanager
def chat_server(latency: float) -> Iterator[str]:
    """The loopback server in a process of its own; yields its address."""
    command = [sys.executable, "-m", "tests.support.chat_server", "--port", "0", "--latency", str(latency)]
    server = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[1]
    finally:
        server.terminate()
        server.wait()


def stats(url: str) -> dict[str, Any]:
    """What the server tells of the calls that it has had."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def calls_so_far(url: str) -> int:
    """How many calls the server has had."""
    return int(stats(url)["requests"])


@dataclass(frozen=True)
class WholeRun:
    """What a `pytest` command took, the calls that it made, and the modules of LiteLLM that it ended with."""

    took: Measured
    calls: int
    litellm_modules: int

    @property
    def ideal(self) -> float:
        """The seconds that its calls take if nothing else takes any."""
        return self.calls * LATENCY / CONCURRENCY


def whole_run(url: str, count: int, folder: Path, client: str, *words: str) -> WholeRun:
    """Run `pytest` on `count` scenarios of three turns; `client` is the lane, `words` are more arguments."""
    before = calls_so_far(url)
    project = projects.scenarios(folder, count, url, client)
    command = pytest_command("-q", f"--convoprobe-concurrency={CONCURRENCY}", *words)
    took = run(command, cwd=project, env=HERE)
    if took.code != 0 or f"{count} passed" not in took.output:
        raise SystemExit(f"the measured run failed:\n{took.output[-3000:]}")
    modules = int((project / projects.MODULES_FILE).read_text())
    return WholeRun(took, calls_so_far(url) - before, modules)


def bare_calls(url: str, calls: int, at_once: int = CONCURRENCY, *file: str) -> list[str]:
    """The command that makes so many calls with LiteLLM alone."""
    return [sys.executable, "-m", "tests.perf.bare_calls", url, str(calls), str(at_once), *file]
