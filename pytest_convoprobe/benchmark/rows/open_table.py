"""The tables of a benchmark's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..format.folder import BenchmarkFolder
from .row_kinds import CONVERSATIONS, INTERNAL, SCENARIOS, SCORES
from .table import Table


def open_table(
    folder: BenchmarkFolder,
    stage: str,
    target: str = "",
    *,
    conversations: Callable[[], Table] | None = None,
    scratch: Path | None = None,
) -> Table:
    """The table of a stage (`simulate`) and a target, empty for stages that have none.

    Scores are taken over as those of the `conversations` that are there. With `scratch`, nothing is written
    but in that folder.
    """
    lines = folder.rows / stage / f"{target or 'all'}.jsonl"
    if stage == "gen-scenarios":
        return Table.open(folder.scenarios, lines, SCENARIOS, scratch=scratch)
    if stage == "simulate":
        return Table.open(folder.conversations(target), lines, CONVERSATIONS, target, scratch=scratch)
    if stage == "evaluate":
        before = (lambda: conversations().heads()) if conversations else None
        return Table.open(folder.scores(target), lines, SCORES, target, before=before, scratch=scratch)
    return Table.open(None, lines, INTERNAL, target, scratch=scratch)
