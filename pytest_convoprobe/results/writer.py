"""Writes a run to the disk while it goes on.

Every process of a run has two files of its own and only ever appends to them, a whole line at
a time: whatever happens to it, no more than the trial that was running is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import locked, write_atomically
from ..redaction import Redactor
from ..result import ScenarioResult
from .prints import NO_PRINTS, Prints
from .records import from_record, to_record
from .rows import row_of, to_line
from .run_info import RunInfo

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


class RunWriter:
    """One process's part of a run; it may be used from several threads.

    `worker` is `main`, or the name of xdist's worker. Nothing is written before the first trial
    or description. No method raises when the disk refuses: `problem` then says so in a line for people.
    """

    def __init__(self, results: Path, run: str, *, worker: str = MAIN, redactor: Redactor) -> None:
        self.run = run
        self.folder = results / RUNS / run
        self.problem: str | None = None
        self._results = results
        self._worker = worker
        self._redactor = redactor
        self._lock = threading.Lock()
        self._alive = contextlib.ExitStack()
        self._trials = _Lines(self.folder / trials_file(worker))
        self._index = _Lines(self.folder / index_file(worker))

    @property
    def begun(self) -> bool:
        """Whether the run has a folder, made by this process or by another one of the same run."""
        return self.folder.is_dir()

    def add(self, result: ScenarioResult, prints: Prints = NO_PRINTS) -> None:
        """Append a finished trial, masked."""
        record = self._redactor.data(to_record(result, prints, worker=self._worker))
        with self._lock:
            try:
                self._append(record)
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
            self._alive.close()

    def _append(self, record: Mapping[str, Any]) -> None:
        self._make_folder()
        if self._worker == MAIN:
            self._stay_alive()  # before the first trial, which may be there long before the description
        offset, length = self._trials.append(record)
        row = row_of(from_record(record), run=self.run, offset=offset, length=length)
        self._index.append(to_line(row))

    def _make_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        ignore = self._results / ".gitignore"
        if not ignore.exists():
            with contextlib.suppress(FileExistsError), ignore.open("x", encoding="utf-8") as file:
                file.write("# Made by pytest-convoprobe: stored runs are not for version control.\n*\n")

    def _stay_alive(self) -> None:
        """Hold a lock for as long as the process lives, which tells readers that the run goes on."""
        if not hasattr(self, "_locked"):
            self._locked = True
            with contextlib.suppress(OSError, TimeoutError):
                self._alive.enter_context(locked(self.folder, timeout=0))

    def _complain(self, error: OSError) -> None:
        words = error.strerror or str(error)
        self.problem = self._redactor.text(f"this run is not stored whole in {self.folder}: {words}")


class _Lines:
    """A file of JSON lines that only grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._size = 0

    def append(self, data: Mapping[str, Any] | list[Any]) -> tuple[int, int]:
        """Write one line to the disk; its offset and its length, the line break included."""
        line = json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"
        handle = self._open()
        try:
            self._write(handle, line)
        except OSError:
            self._take_back(handle)
            raise
        offset, self._size = self._size, self._size + len(line)
        return offset, len(line)

    def _open(self) -> int:
        if self._handle is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._handle = os.open(self._path, flags, 0o666)
            self._size = os.fstat(self._handle).st_size
        return self._handle

    @staticmethod
    def _write(handle: int, line: bytes) -> None:
        """A system that is short of space may write a part without an error first."""
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(handle, rest) :]

    def _take_back(self, handle: int) -> None:
        """Remove what was written of a line, or at least end it, so that the next one stands alone."""
        try:
            os.ftruncate(handle, self._size)
        except OSError:
            with contextlib.suppress(OSError):
                os.write(handle, b"\n")
            self._size = os.fstat(handle).st_size

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
