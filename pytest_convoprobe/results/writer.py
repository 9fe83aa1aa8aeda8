"""Writes a run to the disk while it goes on.

Every process of a run has files of its own and only ever appends to them, a whole line at a time: whatever
happens to it, no more than the trial that was running is lost, and what that has cost is known.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import Lines, locked, write_atomically
from ..gate.types import Decision
from ..llm.ledger import Spending
from ..llm.port import Role, ToolSpec
from ..redaction import Redactor
from ..result import ScenarioResult
from .decisions import decision_record, decisions_file
from .fingerprints import NO_PRINTS, Prints
from .index import row_of, to_line
from .out_of_git import keep_out_of_git
from .records import TrialRecord, from_record, plain, to_record
from .run_info import RunInfo
from .spent_calls import call_record, calls_file
from .tool_schemas import tool_records, tools_file

RUNS = "runs"
INFO = "run.json"
MAIN = "main"
"""The worker that is the process which the user started."""


def trials_file(worker: str) -> str:
    """The name of a worker's file of trials."""
    return f"trials-{worker}.jsonl"


def index_file(worker: str) -> str:
    """The name of a worker's index."""
    return f"index-{worker}.jsonl"


@dataclass(frozen=True)
class Entry:
    """A masked trial, as it is stored: as data, as readers have it, and as a line of the file."""

    record: dict[str, Any]
    trial: TrialRecord
    line: bytes


class RunWriter:
    """One process's part of a run; it may be used from several threads.

    `worker` is `main`, or the name of xdist's worker. Nothing is written before the first trial
    or description. No method raises when the disk refuses: `problem` then says so in a line for people, and
    `unwritten` has the masked trials that it did not take.
    """

    def __init__(self, results: Path, run: str, *, worker: str = MAIN, redactor: Redactor) -> None:
        self.run = run
        self.folder = results / RUNS / run
        self.problem: str | None = None
        self.unwritten: list[dict[str, Any]] = []
        self._results = results
        self._worker = worker
        self._redactor = redactor
        self._lock = threading.Lock()
        self._alive = contextlib.ExitStack()
        self._made = False
        self._trials = Lines(self.folder / trials_file(worker))
        self._index = Lines(self.folder / index_file(worker))
        self._calls = Lines(self.folder / calls_file(worker))
        self._decisions = Lines(self.folder / decisions_file(worker))

    @property
    def begun(self) -> bool:
        """Whether the run has a folder, made by this process or by another one of the same run."""
        return self.folder.is_dir()

    def add(self, result: ScenarioResult, prints: Prints = NO_PRINTS) -> None:
        """Append a finished trial, masked."""
        self.append(self.entry(result, prints))

    def entry(self, result: ScenarioResult, prints: Prints = NO_PRINTS) -> Entry:
        """A finished trial, masked, for `append`: the part that takes time, and that needs no lock."""
        record = self._redactor.data(to_record(result, prints, worker=self._worker))
        return Entry(record, from_record(record), _line(record))

    def append(self, entry: Entry) -> None:
        """Write an entry."""
        with self._lock:
            try:
                offset, length = self._append(entry.line)
            except OSError as error:
                self.unwritten.append(entry.record)
                self._complain(error)
                return
            # The index is a shortcut: without its line, readers make the row from the trial.
            row = row_of(entry.trial, run=self.run, offset=offset, length=length)
            try:
                self._index.append(_line(to_line(row)))
            except OSError as error:
                self._complain(error)

    def add_call(self, scenario_id: str, trial: int, role: Role, spent: Spending) -> None:
        """Append what a call has cost."""
        self._add_line(self._calls, call_record(scenario_id, trial, role, spent))

    def add_decision(self, decision: Decision) -> None:
        """Append what the gate decided about a scenario, masked."""
        self._add_line(self._decisions, decision_record(decision, time.time()))

    def add_tools(self, digest: str, tools: Sequence[ToolSpec]) -> None:
        """Store a target's tools, masked, once in a run; `digest` is their fingerprint."""
        file = self.folder / tools_file(digest)
        with self._lock:
            try:
                if not file.exists():
                    self._make_folder()
                    records = self._redactor.data(plain(tool_records(tools)))
                    write_atomically(file, (json.dumps(records, indent=1) + "\n").encode("ascii"))
            except OSError as error:
                self._complain(error)

    def _add_line(self, lines: Lines, record: dict[str, Any]) -> None:
        masked = self._redactor.data(record)
        with self._lock:
            try:
                self._make_folder_once()
                lines.append(_line(masked))
            except OSError as error:
                self._complain(error)

    def write_info(self, info: RunInfo) -> None:
        """Write or replace the description of the run. Only one process of a run does that."""
        data = self._redactor.data(info.to_json())
        text = json.dumps(data, indent=2, default=str) + "\n"
        with self._lock:
            try:
                self._make_folder()
                self._stay_alive()
                write_atomically(self.folder / INFO, text.encode("ascii"))
            except OSError as error:
                self._complain(error)

    def close(self) -> None:
        """Let go of the files; the run counts as ended only if its description says so."""
        with self._lock:
            self._trials.close()
            self._index.close()
            self._calls.close()
            self._decisions.close()
            self._alive.close()

    def _append(self, line: bytes) -> tuple[int, int]:
        self._make_folder_once()
        if self._worker == MAIN:
            self._stay_alive()  # before the first trial, which may be there long before the description
        return self._trials.append(line)

    def _make_folder_once(self) -> None:
        """For files that stay open: whoever removes the folder meanwhile removes them too."""
        if not self._made:
            self._make_folder()
            self._made = True

    def _make_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        keep_out_of_git(self._results)

    def _stay_alive(self) -> None:
        """Keep a lock for as long as the process lives: it shows readers that the run goes on."""
        if not hasattr(self, "_locked"):
            self._locked = True
            with contextlib.suppress(OSError, TimeoutError):
                self._alive.enter_context(locked(self.folder, timeout=0))

    def _complain(self, error: OSError) -> None:
        words = error.strerror or str(error)
        self.problem = self._redactor.text(f"this run is not stored whole in {self.folder}: {words}")


def _line(data: Mapping[str, Any] | list[Any]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"
