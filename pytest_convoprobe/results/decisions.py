"""What the gate decided about the scenarios of a run, written down as each is decided.

A line for each decision, in a file of each process, `decisions-WORKER.jsonl`. A scenario whose conversations
broke off has none: its trials are there, and nobody said what they mean.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..gate.types import Decision
from .kept_json import read_lines

VERSION = 1


def decisions_file(worker: str) -> str:
    """The name of a worker's file of decisions."""
    return f"decisions-{worker}.jsonl"


def decision_record(decision: Decision, at: float) -> dict[str, Any]:
    """A decision as plain data. `at` is when it was made, in seconds since 1970."""
    return {"version": VERSION, "at": at, **decision.to_json()}


def read_decisions(folder: Path) -> dict[str, Decision]:
    """The decisions of the run in a folder, by scenario id; after a rerun the last one.

    Lines that can't be read, or that a later release wrote, are left out. Raises `ResultsError` for a file
    that the system refuses to read.
    """
    found = read_lines(sorted(folder.glob(decisions_file("*"))), _dated)
    # By time and not by file: under xdist another worker may have run the scenario again.
    return {one.scenario_id: one for _, one in sorted(found, key=lambda pair: pair[0])}


def _dated(data: Any) -> tuple[float, Decision]:
    if data["version"] > VERSION:
        raise ValueError("a later release wrote it")
    return float(data["at"]), Decision.from_json(data)
