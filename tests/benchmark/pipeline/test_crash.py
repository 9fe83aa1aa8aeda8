"""A run in a process of its own that is killed in the middle, and the run that goes on after it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.pipeline.pipeline import PipelineReport, run_bench
from tests.support.chat_server import ChatServer

from .. import project

REPOSITORY = Path(__file__).parents[3]
COMMAND = "import sys; from tests.benchmark.pipeline.test_crash import run; run(sys.argv[1])"
AT_ONCE = 3


def run(folder: Path | str) -> PipelineReport:
    loaded = project.load(Path(folder), run__concurrency=AT_ONCE)
    return asyncio.run(run_bench(loaded, ["all"]))


class Killer:
    """Answers, and kills a process when so many calls have come."""

    def __init__(self, calls: int) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._left = calls

    def __call__(self, body: Mapping[str, Any]) -> str:
        self._left -= 1
        if self._left <= 0 and self.process is not None:
            self.process.kill()
            self.process = None
        return project.answer_body(body)


def kept(folder: Path) -> dict[str, bytes]:
    """What a run has finished, by file."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob(".rows/*/*.jsonl")}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The files of a run that nothing happened to, and how many calls it took."""
    with ChatServer(project.answer_body) as server:
        folder = project.write(tmp_path_factory.mktemp("whole"), server.base_url, config=project.PRICED)
        assert run(folder).complete
        return {"files": project.results(folder), "calls": len(server.requests)}


def test_a_killed_run_is_gone_on_with_and_comes_to_the_same(
    tmp_path: Path, uninterrupted: Mapping[str, Any]
) -> None:
    killer = Killer(calls=20)
    with ChatServer(killer) as server:
        folder = project.write(tmp_path, server.base_url, config=project.PRICED)
        process = killer.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(folder)], cwd=REPOSITORY
        )
        process.wait(120)
        before = kept(folder)
        assert not (folder / "results.json").exists()
        assert any(name.startswith(".rows/simulate/") for name in before)
        assert run(folder).complete
        # Of each unit that was in flight, all calls are made again: four for a conversation.
        assert len(server.requests) <= uninterrupted["calls"] + AT_ONCE * 4
        # All calls are paid for, also those of the units that were in flight.
        costs = json.loads((folder / "cost.json").read_bytes())
        made = len(server.requests)
        assert made <= costs["total"]["calls"] <= made + AT_ONCE  # some may not have reached the server
        assert costs["estimated_calls"] <= AT_ONCE
        assert costs["total"]["cost"] > 0
        assert [path.name for path in folder.glob(".rows/calls/*")] == ["lost"]
    files, whole_run = project.results(folder), dict(uninterrupted["files"])
    # More was spent than by the run that nothing happened to.
    assert files.pop("cost.json") != whole_run.pop("cost.json")
    assert files == whole_run
    after = kept(folder)
    whole = {name: lines[: lines.rfind(b"\n") + 1] for name, lines in before.items()}
    assert all(after[name].startswith(lines) for name, lines in whole.items())
