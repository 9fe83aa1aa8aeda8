"""The journal of a step and a target: a line for each unit that came to an end, added and never changed.

It is the truth about rows. A line is on the disk as soon as its unit is done, so that a killed run loses only
what it was making. What is known of a row comes first in its line, and the row last: which rows there are is
found without reading them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ...errors import ResultsError
from ...files import Lines, locked, open_file, shown_path, write_atomically
from ...llm.ledger import Spending
from .spending import Sum
from .work import Place, Row, Unit

ROW = b',"row":'
"""What comes before the row."""
NO_ROW = b"null}\n"
"""What comes there instead if there is none."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LAST_TIME = 1e11
_NUMBERS = 6
"""So many are there of what was spent in a role, see `as_numbers`."""


@dataclass(frozen=True)
class Head:
    """What is known of a row without reading it: its key, a digest of its content, and where its line is.

    An `adopted` row comes from a file that we didn't write. Without a key it counts as done whatever
    it is made of, as long as its source has the digest `of`: the one that it was found with. None means that
    this isn't known. `at` is when we made it, in seconds since 1970, and `day` the date (UTC) that a row of
    others gives; 0 and empty where it isn't known.
    """

    key: str
    digest: str
    offset: int
    length: int
    adopted: bool = False
    of: str | None = None
    at: float = 0.0
    day: str = ""

    @property
    def foreign(self) -> bool:
        """Whether the row is another system's, or written by hand, and says nothing of what it is made of."""
        return self.adopted and not self.key

    def fits(self, unit: Unit) -> bool:
        """Whether this is the row that the unit asks for."""
        if self.key or not self.adopted:
            return self.key == unit.key
        return unit.of is None or self.of in (None, unit.of)


class Journal:
    """The lines of one file, which need not exist. One process at a time may have it open.

    `latest` has the newest row of each place, `failures` why the last attempt at a unit came to nothing.
    A row that was made before `since` (seconds since 1970), or nobody knows when, doesn't count as done.
    With `scratch`, it is copied into that folder before anything is added. Raises `ResultsError` where the
    disk refuses.
    """

    def __init__(
        self, path: Path, digest: Callable[[Row], str], target: str = "", scratch: Path | None = None
    ) -> None:
        self.target = target
        self.latest: dict[Place, Head] = {}
        self.failures: dict[Place, str] = {}
        self.paid_rows = 0
        self.since = 0.0
        self._path = path
        self._lines = Lines(path)
        self._digest = digest
        self._scratch = scratch
        self._older: dict[tuple[Place, str], Head] = {}
        self._offsets: set[int] = set()
        self._sum = Sum()
        for line in read_lines(path):
            place = Place(line.head["id"], line.head["sample"], line.head["metric"], target)
            self._take(place, line)

    @property
    def spending(self) -> dict[str, Spending]:
        """By role, what all lines ever cost, those of failures too."""
        return self._sum.by_role()

    def has(self, offsets: Iterable[int]) -> bool:
        """Whether there are lines at all of these places of the file."""
        return self._offsets.issuperset(offsets)

    def done(self, unit: Unit) -> bool:
        """Whether the row that the unit asks for was ever made; it need not be the newest of its place."""
        latest, older = self.latest.get(unit.place), self._older.get((unit.place, unit.key))
        found = latest if latest is not None and latest.fits(unit) else older
        return latest is not None and found is not None and found.at >= self.since

    def by_hand(self, place: Place) -> bool:
        """Whether somebody wrote the newest row of a place, or edited the row that we had made.

        Where the lines of our own row are lost, as in a fresh checkout, an edited row has our key and counts
        as ours.
        """
        head = self.latest.get(place)
        if head is None or not head.adopted:
            return False
        ours = self._older.get((place, head.key)) if head.key else None
        return head.foreign or (ours is not None and ours.digest != head.digest)

    def current(self, unit: Unit) -> Head:
        """The head of a unit that is done; a row made earlier becomes the newest of its place again."""
        head = self.latest[unit.place]
        if not head.fits(unit):
            older = self._older[unit.place, unit.key]
            more = {} if unit.of is None else {"of": unit.of}
            # It is as old as it was, although its line is new.
            self.add(unit.place, unit.key, self.row(older), {**more, **made_at(older.at, older.day)})
        return self.latest[unit.place]

    def row(self, head: Head) -> Row:
        row: Row = json.loads(next(self.texts([head])))
        return row

    def texts(self, heads: Collection[Head]) -> Iterator[bytes]:
        """The JSON of rows, as it is in their lines; one at a time is in memory."""
        if not heads:
            return
        try:
            with open_file(self._path) as file:
                for head in heads:
                    file.seek(head.offset)
                    line = file.read(head.length)
                    yield line[line.find(ROW) + len(ROW) : -2]
        except OSError as error:
            raise unusable(self._path, "read", error) from None

    def add(self, place: Place, key: str, row: Row | None, more: Mapping[str, Any]) -> None:
        """Write a line; it is the newest of its place from now on."""
        head = {
            "key": key,
            "id": place.id,
            "sample": place.sample,
            "metric": place.metric_id,
            "digest": "" if row is None else self._digest(row),
            **more,
        }
        # One write for the whole line: a killed process leaves a torn line at most, never a wrong one.
        text = json.dumps(head, separators=(",", ":")).encode("ascii")[:-1] + ROW
        text += NO_ROW if row is None else _encoded(row) + b"}\n"
        try:
            offset, length = self._lines_to_write().append(text)
        except OSError as error:
            raise unusable(self._path, "written", error) from None
        self._take(place, JournalLine(head, offset, length, row is not None))

    def keep_only(self, offsets: Collection[int]) -> None:
        """A row without a key is there for as long as the array has it: forget those of other lines."""
        for place, head in list(self.latest.items()):
            if head.adopted and not head.key and head.offset not in offsets:
                del self.latest[place]

    @property
    def stamp(self) -> Path:
        """The file that says which lines are in the array for people."""
        return self._path.with_suffix(".stamp")

    def write_stamp(self, content: Mapping[str, Any]) -> None:
        try:
            self._lines_to_write()
            with locked(self.stamp.parent):
                write_atomically(self.stamp, json.dumps(content).encode("ascii"))
        except (OSError, TimeoutError) as error:
            raise unusable(self.stamp, "written", error) from None

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()

    def _take(self, place: Place, line: JournalLine) -> None:
        """The newest line of a place counts."""
        head, spent = line.head, line.head.get("spent", {})
        self._offsets.add(line.offset)
        self._sum.add(spent)
        self.paid_rows += bool(spent) and line.made
        if not line.made:
            self.failures[place] = head["failed"]
            return
        self.failures.pop(place, None)
        old = self.latest.get(place)
        if old is not None and old.key:
            self._older[place, old.key] = old
        adopted = bool(head.get("adopted"))
        at, day = _when(head)
        self.latest[place] = Head(
            head["key"], head["digest"], line.offset, line.length, adopted, head.get("of"), at, day
        )

    def _lines_to_write(self) -> Lines:
        """The file, or a copy of it if nothing is to be written where it is."""
        if self._scratch is not None:
            copy = self._scratch / self._path.parent.name / self._path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists():
                shutil.copyfile(self._path, copy)
            self._path, self._lines, self._scratch = copy, Lines(copy), None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._lines


@dataclass(frozen=True)
class JournalLine:
    """A line: what comes before its row, where it is, and whether there is a row."""

    head: Mapping[str, Any]
    offset: int
    length: int
    made: bool


def read_lines(path: Path) -> Iterator[JournalLine]:
    """The lines of a journal, without reading their rows; none if there is no file. Raises `ResultsError`.

    What a killed writer left of a line is skipped, and so is a line that isn't ours.
    """
    offset = 0
    try:
        with open_file(path) as file:
            for text in file:
                end = text.find(ROW)
                # Bytes, not JSON: parsing 100,000 rows would take longer than everything else at the start.
                whole = end >= 0 and text.endswith(b"}\n")
                if whole and (head := _head(text[:end] + b"}")) is not None:
                    yield JournalLine(head, offset, len(text), text[end + len(ROW) :] != NO_ROW)
                offset += len(text)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, "read", error) from None


def _head(text: bytes) -> Mapping[str, Any] | None:
    try:
        head = json.loads(text)
        texts = (
            head["key"],
            head["id"],
            head["metric"],
            head["digest"],
            head.get("failed", ""),
            head.get("of", ""),
        )
        sample = head["sample"]
        spent = head.get("spent", {}).values()
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    good = all(isinstance(one, str) for one in texts) and isinstance(sample, int)
    return head if good and all(isinstance(one, list) and len(one) == _NUMBERS for one in spent) else None


def made_at(at: float, day: str) -> dict[str, Any]:
    """The part of a line's head that says when its row was made."""
    return {"at": at} if at else {"day": day} if day else {}


def _when(head: Mapping[str, Any]) -> tuple[float, str]:
    """The time, or at least the date; lines of earlier versions have neither."""
    at, day = head.get("at"), head.get("day")
    if isinstance(at, (int, float)) and 0 < at < _LAST_TIME:
        return at, day_of(at)
    return 0.0, day if isinstance(day, str) and _DAY.fullmatch(day) else ""


def day_of(at: float) -> str:
    """The date of a time, `2026-11-20`. In UTC: machines of several time zones may share a folder."""
    return datetime.fromtimestamp(at, timezone.utc).date().isoformat()


def _encoded(row: Row) -> bytes:
    """Readable in any language, except where a text has halves of characters that UTF-8 doesn't know."""
    try:
        return json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(row).encode("ascii")


def unusable(path: Path, done: str, error: Exception) -> ResultsError:
    """What to raise where the disk refuses a file."""
    reason = getattr(error, "strerror", None) or error
    return ResultsError(f"{shown_path(path)} cannot be {done}: {reason}")
