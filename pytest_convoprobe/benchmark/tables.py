"""The tables of a benchmark's folder."""

from __future__ import annotations

from .folder import BenchmarkFolder
from .kinds import CONVERSATIONS, INTERNAL, SCENARIOS, SCORES
from .table import Table


def open_table(folder: BenchmarkFolder, stage: str, target: str = "") -> Table:
    """The table of a stage (`simulate`) and a target, empty for stages that have none."""
    lines = folder.rows / stage / f"{target or 'all'}.jsonl"
    if stage == "gen-scenarios":
        return Table.open(folder.scenarios, lines, SCENARIOS)
    if stage == "simulate":
        return Table.open(folder.conversations(target), lines, CONVERSATIONS, target)
    if stage == "evaluate":
        return Table.open(folder.scores(target), lines, SCORES, target)
    return Table.open(None, lines, INTERNAL, target)
