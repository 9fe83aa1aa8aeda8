"""One stage's rows of one target: a file of lines that only grows, and a JSON array made of it for people.

A line is one finished unit, whole and on the disk as soon as it is done, so that a killed run loses only
what it was making. Its row stands last in it: what there is can be found without reading the rows. The
array is written at the end of a stage. A stamp beside the lines tells which lines are in the array, and
whether it is still as it was written; rows of an array that somebody else wrote, or edited, are taken over.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import ResultsError
from ...files import Lines, locked, shown_path, write_atomically
from ...llm.ledger import Spending
from .arrays import Broken, array_of, items
from .row_types import RowKind
from .spending import Sum, as_numbers
from .table_lines import NO_ROW, ROW, encoded, read_lines, unusable
from .work import Place, Row, RowResult, Unit


@dataclass(frozen=True)
class Head:
    """What is known of a row without reading it: its key, a digest of its content, and where its line is.

    A row that was `adopted` comes from a file that we didn't write; without a key it counts as done
    whatever it is made of, as long as the row of the stage before is that of the digest `of`, which it was
    found with. None means that this isn't known.
    """

    key: str
    digest: str
    offset: int
    length: int
    adopted: bool = False
    of: str | None = None

    def fits(self, unit: Unit) -> bool:
        """Whether this is the row that the unit asks for."""
        if self.key or not self.adopted:
            return self.key == unit.key
        return unit.of is None or self.of in (None, unit.of)


Before = Callable[[], Mapping[Place, Head]]


class Table:
    """The rows of a stage and a target. One process at a time may have it open.

    `open` raises `ResultsError` for an array that cannot be read: it is somebody's work, and isn't
    overwritten. `row`, `put` and `export` raise it where the disk refuses.

    `before` gives the heads of the stage before, where rows are to be told by them. With `scratch`, nothing
    is written but in that folder.
    """

    def __init__(
        self,
        json_file: Path | None,
        lines_file: Path,
        kind: RowKind,
        target: str = "",
        *,
        before: Before | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.file = json_file
        self._before = before
        self._scratch = scratch
        self._kind = kind
        self._target = target
        self._path = lines_file
        self._lines = Lines(lines_file)
        self._stamp = lines_file.with_suffix(".stamp")
        self._latest: dict[Place, Head] = {}
        self._older: dict[tuple[Place, str], Head] = {}
        self._failures: dict[Place, str] = {}
        self._sum = Sum()
        self._exported: tuple[int, ...] = ()
        self._paid_rows = 0
        self._seen: list[int] | None = None

    @classmethod
    def open(
        cls, json_file: Path | None, lines_file: Path, kind: RowKind, target: str = "", **more: Any
    ) -> Table:
        """The table of these two files, which need not exist; without `json_file` there is no array."""
        table = cls(json_file, lines_file, kind, target, **more)
        table._load()
        return table

    def heads(self) -> Mapping[Place, Head]:
        """The rows that the array holds, in its order; where there is no array, all that there are."""
        if self.file is None:
            return self._latest
        return dict(self._in_array())

    def row(self, place: Place) -> Row:
        """The newest row of a place. Raises KeyError if there is none."""
        row: Row = json.loads(self._row_text(self._latest[place]))
        return row

    def rows(self) -> Iterator[Row]:
        """The rows of `heads`, one at a time in memory."""
        for text in self._row_texts(list(self.heads().values())):
            yield json.loads(text)

    def others(self) -> Iterator[Row]:
        """Those of them that somebody else wrote, or edited."""
        for text in self._row_texts([head for _, head in self._in_array() if head.adopted]):
            yield json.loads(text)

    def done(self, unit: Unit) -> bool:
        """Whether the row that the unit asks for was ever made; it need not be the newest of its place."""
        head = self._latest.get(unit.place)
        return head is not None and (head.fits(unit) or (unit.place, unit.key) in self._older)

    def put(self, outcome: RowResult) -> None:
        """Write down what became of a unit."""
        unit = outcome.unit
        row = None if outcome.row is None else {**outcome.row, "key": unit.key}
        spent = as_numbers(outcome.spending)
        of = {} if unit.of is None else {"of": unit.of}
        self._append(unit.place, unit.key, row, {**of, "spent": spent, "failed": outcome.failure})
        self._add(spent, row is not None)

    def outdated(self) -> set[Place]:
        """Of the rows in the array, those of a row of the stage before that is another one by now."""
        before = self._before() if self._before else {}
        return {
            place
            for place, head in self._in_array()
            if head.of is not None
            and (source := before.get(replace(place, metric_id="")))
            and source.digest != head.of
        }

    def failures(self) -> list[tuple[Place, str]]:
        """The units that came to nothing at the last attempt, and why."""
        return list(self._failures.items())

    def spending(self) -> dict[str, Spending]:
        """By role, what all lines ever cost, those of failures too."""
        return self._sum.by_role()

    @property
    def paid_rows(self) -> int:
        """How many rows `spending` has made."""
        return self._paid_rows

    def export(self, units: Collection[Unit], spared: Callable[[Place], bool] = lambda _: False) -> bool:
        """Write the array if it would change: done units in this order, then rows of others for no unit.

        A row of ours that no unit asks for is one of other settings, or of something that is gone: it is left
        out, unless its place is `spared`, since nobody asked for it to be made anew. Says whether the array
        was written; a table without one has nothing to write.
        """
        if self.file is None:
            return False
        if self._seen != (seen := _size_and_time(self.file)) and seen is not None:
            self._adopt(self.file)  # edited while the run went on
        wanted = self._wanted(units, spared)
        offsets = tuple(head.offset for head in wanted)
        if self._holds(wanted) and (self.file.exists() or not wanted):
            return False
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.file.parent):
                write_atomically(self.file, array_of(self._row_texts(wanted)))
        except (OSError, TimeoutError) as error:
            raise unusable(self.file, "written", error) from None
        self._sign(offsets)
        return True

    def close(self) -> None:
        """Let go of the file of lines."""
        self._lines.close()

    def _wanted(self, units: Collection[Unit], spared: Callable[[Place], bool]) -> list[Head]:
        done = {unit.place: self._current(unit) for unit in units if self.done(unit)}
        others = {place: head for place, head in self._others(units, spared) if place not in done}
        for place in self.outdated() if others else ():
            others.pop(place, None)
        kept = {**others, **done}
        in_order = [kept.pop(unit.place) for unit in units if unit.place in kept]
        return [*in_order, *kept.values()]

    def _others(
        self, units: Collection[Unit], spared: Callable[[Place], bool]
    ) -> Iterator[tuple[Place, Head]]:
        """The rows in the array that stay though no unit asks for them as they are."""
        asked = {unit.place for unit in units}
        for place, head in self._in_array():
            if spared(place) or (head.adopted and not head.key and place not in asked):
                yield place, head

    def _holds(self, wanted: Sequence[Head]) -> bool:
        """Whether the array has these rows; where some are of others, in whatever order it has them."""
        offsets = [head.offset for head in wanted]
        if any(head.adopted for head in wanted):
            return sorted(offsets) == sorted(self._exported)
        return offsets == list(self._exported)

    def _current(self, unit: Unit) -> Head:
        """The head of a unit that is done; a row made earlier becomes the newest of its place again."""
        head = self._latest[unit.place]
        if not head.fits(unit):
            text = self._row_text(self._older[unit.place, unit.key])
            self._append(unit.place, unit.key, json.loads(text), {} if unit.of is None else {"of": unit.of})
        return self._latest[unit.place]

    def _in_array(self) -> Iterator[tuple[Place, Head]]:
        by_offset = {head.offset: (place, head) for place, head in self._latest.items()}
        return (by_offset[offset] for offset in self._exported if offset in by_offset)

    def _append(self, place: Place, key: str, row: Row | None, more: Mapping[str, Any]) -> None:
        head = {
            "key": key,
            "id": place.id,
            "sample": place.sample,
            "metric": place.metric_id,
            "digest": "" if row is None else self._kind.digest(row),
            **more,
        }
        line = json.dumps(head, separators=(",", ":")).encode("ascii")[:-1] + ROW
        line += NO_ROW if row is None else encoded(row) + b"}\n"
        try:
            self._keep_apart()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            offset, length = self._lines.append(line)
        except OSError as error:
            raise unusable(self._path, "written", error) from None
        self._take(place, head, offset, length, row is not None)

    def _take(self, place: Place, head: Mapping[str, Any], offset: int, length: int, made: bool) -> None:
        """Take a line in: the newest one of a place counts."""
        if not made:
            self._failures[place] = head["failed"]
            return
        self._failures.pop(place, None)
        old = self._latest.get(place)
        if old is not None and old.key:
            self._older[place, old.key] = old
        adopted, of = bool(head.get("adopted")), head.get("of")
        self._latest[place] = Head(head["key"], head["digest"], offset, length, adopted, of)

    def _add(self, spent: Mapping[str, Any], made: bool) -> None:
        self._sum.add(spent)
        self._paid_rows += bool(spent) and made

    def _load(self) -> None:
        known: set[int] = set()
        for line in read_lines(self._path):
            head = line.head
            known.add(line.offset)
            place = Place(head["id"], head["sample"], head["metric"], self._target)
            self._take(place, head, line.offset, line.length, line.made)
            self._add(head.get("spent", {}), line.made)
        if self.file is not None:
            self._load_stamp(self.file, known)

    def _load_stamp(self, file: Path, known: set[int]) -> None:
        """What is in the array; one with rows whose lines are lost is taken over like anybody else's."""
        seen = _size_and_time(file)
        if seen is None:
            self._forget_adopted(())
        elif (exported := _stamped(self._stamp, seen)) is not None and known >= exported.keys():
            self._seen, self._exported = seen, tuple(exported)
            self._forget_adopted(self._exported)
        else:
            self._adopt(file)

    def _forget_adopted(self, kept: Sequence[int]) -> None:
        """A row without a key is there for as long as its file holds it."""
        offsets = frozenset(kept)
        for place, head in list(self._latest.items()):
            if head.adopted and not head.key and head.offset not in offsets:
                del self._latest[place]

    def _adopt(self, file: Path) -> None:
        """Take over the rows of an array that isn't as we wrote it, except those that are as we know them."""
        found: dict[Place, int] = {}
        before = self._before() if self._before else None
        for number, row in enumerate(_items(file), 1):
            place = self._place(file, number, row, found)
            if not self._has(place, row):
                more = {"adopted": True, **_found_with(place, before)}
                self._append(place, str(row.get("key") or ""), row, more)
            found[place] = self._latest[place].offset
        self._forget_adopted(tuple(found.values()))
        self._sign(tuple(found.values()))

    def _place(self, file: Path, number: int, row: Any, found: Mapping[Place, int]) -> Place:
        try:
            places = self._kind.places(row, self._target)
        except ResultsError as error:
            raise ResultsError(f"{shown_path(file)}: row {number}: {error}") from None
        if free := [place for place in places if place not in found]:
            return free[0]
        raise ResultsError(
            f"{shown_path(file)}: row {number} is the second one for {places[0].text}; leave one of them, or "
            "tell them apart by `id` and `sample`"
        )

    def _has(self, place: Place, row: Row) -> bool:
        head = self._latest.get(place)
        try:
            return head is not None and json.loads(self._row_text(head)) == row
        except ValueError:  # a line that the disk has spoilt
            return False

    def _sign(self, offsets: tuple[int, ...]) -> None:
        """Remember that the array is ours, and what is in it."""
        assert self.file is not None  # noqa: S101 - asked for where there is one
        self._seen = _size_and_time(self.file)
        stamp = {"file": self._seen, "offsets": offsets}
        try:
            self._keep_apart()
            self._stamp.parent.mkdir(parents=True, exist_ok=True)
            with locked(self._stamp.parent):
                write_atomically(self._stamp, json.dumps(stamp).encode("ascii"))
        except (OSError, TimeoutError) as error:
            raise unusable(self._stamp, "written", error) from None
        self._exported = offsets

    def _keep_apart(self) -> None:
        """Go on in a copy of the lines, if nothing is to be written where they are."""
        if self._scratch is None:
            return
        copy = self._scratch / self._path.parent.name / self._path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            shutil.copyfile(self._path, copy)
        self._path, self._lines, self._scratch = copy, Lines(copy), None
        self._stamp = copy.with_suffix(".stamp")

    def _row_text(self, head: Head) -> bytes:
        return next(self._row_texts([head]))

    def _row_texts(self, heads: Sequence[Head]) -> Iterator[bytes]:
        """The JSON of rows, as it stands in their lines."""
        if not heads:
            return
        try:
            with self._path.open("rb") as file:
                for head in heads:
                    file.seek(head.offset)
                    line = file.read(head.length)
                    yield line[line.find(ROW) + len(ROW) : -2]
        except OSError as error:
            raise unusable(self._path, "read", error) from None


def _found_with(place: Place, before: Mapping[Place, Head] | None) -> dict[str, str]:
    """Which row of the stage before was there with a row that is taken over; none is one, too."""
    if before is None:
        return {}
    source = before.get(replace(place, metric_id=""))
    return {"of": source.digest if source else ""}


def _stamped(stamp: Path, seen: list[int]) -> dict[int, None] | None:
    """Where the rows of the array are in the lines, in order; None if it isn't known to be as we wrote it."""
    try:
        found = json.loads(stamp.read_bytes())
        return dict.fromkeys(found["offsets"]) if found["file"] == seen else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _items(file: Path) -> Iterator[Any]:
    try:
        for number, row in enumerate(items(file), 1):
            if isinstance(row, Broken):
                raise ResultsError(
                    f"{shown_path(file)}: row {number}: {row.reason}; correct the file, or delete it"
                )
            yield row
    except OSError as error:
        raise unusable(file, "read", error) from None


def _size_and_time(file: Path) -> list[int] | None:
    try:
        found = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return [found.st_size, found.st_mtime_ns]
