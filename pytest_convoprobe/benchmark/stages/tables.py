"""The tables of a benchmark's folder, by step and target."""

from __future__ import annotations

from pathlib import Path

from ..format.folder import BenchmarkFolder
from ..rows.journal import Journal
from ..rows.row_types import CONVERSATIONS, INTERNAL, RowKind
from ..rows.table import Table
from .options import Options
from .registry import step


class Tables:
    """Opens each table once, so that a step sees what the one before has made.

    With `scratch`, nothing is written but in that folder.
    """

    def __init__(
        self, folder: BenchmarkFolder, scratch: Path | None = None, options: Options | None = None
    ) -> None:
        self._folder = folder
        self._options = options or Options()
        self._scratch = scratch
        self._open: dict[tuple[str, str], Table] = {}

    def __call__(self, name: str, target: str = "") -> Table:
        """The table of a step (`simulate`) and a target, empty for steps that have none.

        Raises `ResultsError` for a file that cannot be read.
        """
        if (name, target) not in self._open:
            self._open[name, target] = self._table(name, target)
        return self._open[name, target]

    def internal(self, name: str, target: str) -> Table:
        """The table of a study of ours: it is not a step, and has no file for people."""
        if (name, target) not in self._open:
            self._open[name, target] = Table(None, self._journal(name, target, INTERNAL), INTERNAL)
        return self._open[name, target]

    def begun(self, name: str, target: str = "") -> bool:
        """Whether there are rows of ours."""
        return self._lines(name, target).exists()

    def close(self) -> None:
        """Let go of all files."""
        for table in self._open.values():
            table.close()

    def _table(self, name: str, target: str) -> Table:
        found = step(name)
        # Opened only where rows of others are taken over: they are valid for the source that is there.
        before = (lambda: self(found.source, target).heads()) if found.source else None
        journal = self._journal(name, target, found.kind)
        table = Table(found.file(self._folder, target), journal, found.kind, before)
        # Only conversations: what is made of the same words (a score) can't be out of date.
        if found.kind is CONVERSATIONS and target in self._options.talk_again:
            table.count_since(self._options.since)
        return table

    def _journal(self, name: str, target: str, kind: RowKind) -> Journal:
        return Journal(self._lines(name, target), kind.digest, target, self._scratch)

    def _lines(self, name: str, target: str) -> Path:
        return self._folder.rows / name / f"{target or 'all'}.jsonl"
