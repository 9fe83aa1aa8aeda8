"""Reads a stored run, a torn or unfinished one as well as a whole one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ResultsError
from ..files import cannot, locked, open_file, read_file
from ..gate.types import Decision
from ..llm.ledger import Spending
from ..llm.port import Role
from ..result import with_attempts
from .decisions import read_decisions
from .index import IndexRow, LineReader, row_of
from .records import TrialRecord, from_record
from .run_info import RunInfo, RunState
from .spent_calls import read_calls
from .trial_filter import count, final
from .writer import INFO, index_file, trials_file


@dataclass(frozen=True)
class RunRef:
    """A stored run in a list: its id, its folder, and its description."""

    id: str
    path: Path
    info: RunInfo

    def open(self) -> StoredRun:
        """The run itself."""
        return StoredRun(self.path, self.info)

    def rows(self, notes: list[str]) -> list[IndexRow]:
        """Its trials in short, for what is about many runs: of one that can't be read none, and a note."""
        try:
            return list(self.open().rows())
        except (ResultsError, OSError) as error:
            notes.append(f"{self.id} cannot be read: {error}")
            return []


UNSTORED = "unstored"
"""In a row, the worker of a trial that is in no file."""


class StoredRun:
    """A run on the disk.

    `notes` are lines for people about what was found broken: they are complete once all rows were read.
    The process that made the run also knows the trials that the disk did not take (`unstored`), and which
    there should be (`expected`, by scenario and number). Of other runs `run.json` says how many. `decided`
    are decisions that it knows, whether or not the disk took them.
    """

    def __init__(
        self,
        path: Path,
        info: RunInfo,
        notes: Iterable[str] = (),
        *,
        unstored: Sequence[TrialRecord] = (),
        expected: Iterable[tuple[str, int]] | None = None,
        decided: Mapping[str, Decision] | None = None,
    ) -> None:
        self.path = path
        self.info = info
        self._notes = dict.fromkeys(notes)
        self._unstored = unstored
        self._expected = None if expected is None else frozenset(expected)
        self._decided = decided or {}

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def unstored(self) -> int:
        """How many of its trials are in no file."""
        return len(self._unstored)

    @cached_property
    def calls(self) -> dict[Role, Spending]:
        """By role, what its calls cost, as far as that was written down; also without a trial."""
        return read_calls(self.path)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def decisions(self) -> dict[str, Decision]:
        """What the gate decided, by scenario id: nothing about those that broke off, or had no gate."""
        return {**read_decisions(self.path), **self._decided}

    def rows(self) -> Iterator[IndexRow]:
        """The trials in short, worker by worker, each worker's in the order in which they ended."""
        for worker in self._workers:
            yield from self._rows_of(worker)
        for place, record in enumerate(self._unstored):
            row = row_of(record, run=self.id, offset=place, length=0, commit=self._commit)
            yield replace(row, worker=UNSTORED)

    def trial(self, row: IndexRow) -> TrialRecord:
        """The whole trial of a row, with what its earlier attempts spent.

        Raises `ResultsError` if it isn't there any more.
        """
        record = self._trial(row)
        if not row.earlier:
            return record
        spent = [self._trial(one).result.spending for one in row.earlier]
        return replace(record, result=with_attempts(record.result, row.attempts, spent))

    def _trial(self, row: IndexRow) -> TrialRecord:
        if row.worker == UNSTORED:
            return self._unstored[row.offset]
        path = self.path / trials_file(row.worker)
        try:
            with open_file(path) as file:
                file.seek(row.offset)
                return from_record(json.loads(file.read(row.length)))
        except (OSError, ValueError, RecursionError) as error:
            raise ResultsError(f"{path}: the trial of {row.scenario_id} cannot be read: {error}") from None

    def trials(self) -> Iterator[TrialRecord]:
        """All trials, whole, one at a time in memory."""
        for row in self.rows():
            yield self.trial(row)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Trials by outcome; of an item that was run again only its last run counts."""
        return count(self.rows())

    @cached_property
    def missing(self) -> int:
        """How many trials can't be read: their files were lost, or a later release wrote them."""
        found = {(row.scenario_id, row.trial) for row in self.rows()}
        if self._expected is not None:
            return len(self._expected - found)
        return max(0, sum(self.info.counts.values()) - len(found))

    @cached_property
    def reruns(self) -> int:
        """How many attempts a rerun replaced."""
        return sum(len(row.earlier) for row in final(self.rows()))

    @property
    def _commit(self) -> str | None:
        """The commit whose code ran: none where the checkout had changes, which differ from run to run."""
        git = self.info.git
        return None if git is None or git.dirty else git.commit

    @cached_property
    def _workers(self) -> tuple[str, ...]:
        prefix, suffix = trials_file("*").split("*")
        names = {path.name[len(prefix) : -len(suffix)] for path in self.path.glob(trials_file("*"))}
        start, end = index_file("*").split("*")
        # A file of trials may be lost: its index still has their rows.
        names |= {path.name[len(start) : -len(end)] for path in self.path.glob(index_file("*"))}
        # By length first, so that gw10 comes after gw9.
        return tuple(sorted(names, key=lambda name: (len(name), name)))

    def _rows_of(self, worker: str) -> Iterator[IndexRow]:
        """The index, and what it lacks out of the trials themselves."""
        reader = LineReader(self.id, self._commit)
        end = 0
        for row in self._indexed(worker, reader):
            if row.offset > end:
                yield from self._rebuilt(worker, end, row.offset)
            end = max(end, row.offset + row.length)
            yield row
        yield from self._rebuilt(worker, end, None)

    def _indexed(self, worker: str, reader: LineReader) -> Iterator[IndexRow]:
        try:
            text = read_file(self.path / index_file(worker))
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unreadable(self.path / index_file(worker), error) from None
        for line in _json_lines(text):
            try:
                yield reader.row(line, worker)
            except ResultsError:
                continue  # the trials' own file has what this line is missing

    def _rebuilt(self, worker: str, begin: int, end: int | None) -> Iterator[IndexRow]:
        """Rows made of the trials between two places of the file."""
        path = self.path / trials_file(worker)
        # What isn't a file, such as a pipe, is left to `open_file`, which names it.
        if not path.exists() or (path.is_file() and path.stat().st_size <= begin):
            return
        try:
            file = open_file(path)
        except OSError as error:
            raise _unreadable(path, error) from None
        with file:
            file.seek(begin)
            yield from self._scanned(file, path.name, worker, begin, end)

    def _scanned(
        self, file: BinaryIO, name: str, worker: str, offset: int, end: int | None
    ) -> Iterator[IndexRow]:
        for line in file:
            if end is not None and offset >= end:
                return
            record = self._record(line, name)
            if record is not None:
                record = replace(record, worker=worker)
                yield row_of(record, run=self.id, offset=offset, length=len(line), commit=self._commit)
            offset += len(line)

    def _record(self, line: bytes, name: str) -> TrialRecord | None:
        """The trial of a line, or None and a note."""
        if not line.strip():
            return None
        try:
            return from_record(json.loads(line))
        except ResultsError as error:
            self._note(f"a trial in {name} was skipped: {error}")
        except (ValueError, RecursionError):
            torn = "a torn last line" if not line.endswith(b"\n") else "a line that is not JSON"
            self._note(f"{torn} in {name} was skipped")
        return None

    def _note(self, text: str) -> None:
        self._notes[text] = None


def _json_lines(text: bytes) -> Iterator[Any]:
    """The values of the lines that are JSON. All at once where all are, which takes half the time."""
    lines = text.split(b"\n")
    try:
        yield from json.loads(b"[" + b",".join(filter(None, lines)) + b"]")
        return
    except (ValueError, RecursionError):
        pass
    for line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def open_run(path: Path | str) -> StoredRun:
    """The run in a folder. Raises `ResultsError` if there is none."""
    folder = Path(path)
    if not is_run(folder):
        raise ResultsError(f"{folder} holds no stored run: neither {INFO} nor a file of trials is there")
    info, note = _info(folder)
    return StoredRun(folder, info, (note,) if note else ())


def _unreadable(path: Path, error: OSError) -> ResultsError:
    return ResultsError(cannot(path, "read", error))


def is_run(folder: Path) -> bool:
    """Whether the folder holds a run, be it only a part of one."""
    return (folder / INFO).is_file() or any(folder.glob(trials_file("*")))


def read_info(folder: Path) -> RunInfo:
    """The description of the run in a folder; of one without, what the folder's name says."""
    return _info(folder)[0]


def _info(folder: Path) -> tuple[RunInfo, str]:
    """The description, and what is wrong with it."""
    try:
        info, note = RunInfo.from_json(json.loads(read_file(folder / INFO))), ""
    except FileNotFoundError:
        info, note = _nameless(folder), f"{INFO} is missing: the run broke off before it was written"
        if _goes_on(folder):
            note = f"{INFO} is missing: the run has only just begun"
    except (OSError, ValueError, RecursionError, ResultsError) as error:
        info, note = _nameless(folder), f"{INFO} cannot be read: {error}"
    if info.state is RunState.RUNNING and not _goes_on(folder):
        info = replace(info, state=RunState.BROKEN_OFF)
    return info, note


def _nameless(folder: Path) -> RunInfo:
    return RunInfo(id=folder.name, started=time_of(folder.name))


def time_of(run: str) -> float:
    """When a run began, by its id; 0 if that doesn't say."""
    try:
        began = datetime.strptime(run.split("-")[0], "%Y%m%dT%H%M%SZ")
    except ValueError:
        return 0.0
    return began.replace(tzinfo=timezone.utc).timestamp()


def _goes_on(folder: Path) -> bool:
    """Whether the process that writes the run still lives."""
    # It keeps a lock on the folder, which the system takes away from a process that dies.
    try:
        with locked(folder, timeout=0):
            return False
    except TimeoutError:
        return True
    except OSError:
        return False
