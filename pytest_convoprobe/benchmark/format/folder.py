"""A benchmark's folder: which file is where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BenchmarkFolder:
    """The files of a benchmark. `rows` has what a run in progress has finished; the rest is for people."""

    path: Path

    @property
    def benchmark(self) -> Path:
        return self.path / "benchmark.yaml"

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def scenarios(self) -> Path:
        return self.path / "scenarios.json"

    @property
    def results(self) -> Path:
        return self.path / "results.json"

    @property
    def cost(self) -> Path:
        return self.path / "cost.json"

    @property
    def rows(self) -> Path:
        return self.path / ".rows"

    def run(self, target_id: str) -> Path:
        return self.path / "runs" / target_id

    def conversations(self, target_id: str) -> Path:
        return self.run(target_id) / "conversations.json"

    def scores(self, target_id: str) -> Path:
        return self.run(target_id) / "scores.json"

    def targets_with_runs(self) -> tuple[str, ...]:
        """The ids of the targets that there are files of, sorted."""
        return tuple(sorted(entry.name for entry in (self.path / "runs").glob("*") if entry.is_dir()))


_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 100


def target_id(name: str) -> str:
    """A name as a folder's name: `openai/gpt-4o` is `openai-gpt-4o`."""
    return _UNFIT.sub("-", name).lstrip("-._")[:_LONGEST].rstrip("-.") or "target"
