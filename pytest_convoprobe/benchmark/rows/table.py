"""The rows of a step and a target: the journal, and the JSON array that is written from it for people.

The journal is the truth. The array is written from it at the end of a stage, and between runs people and
other programs may edit it. A stamp beside the journal says which lines are in the array, and its size and
time. An array that isn't as we wrote it is read when the table is opened, and what is new in it is added to
the journal. So rows are merged in one place, and all else reads the journal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import ResultsError
from ...files import locked, read_file, shown_path, write_atomically
from ...llm.ledger import Spending
from .arrays import Broken, array_of, items
from .journal import Head, Journal, day_of, made_at, unusable
from .row_types import RowKind
from .sample_numbers import step_to
from .spending import as_numbers
from .work import Place, Row, RowResult, Unit

Before = Callable[[], Mapping[Place, Head]]


class Table:
    """The rows of a step and a target; without `file` there is no array.

    Raises `ResultsError` for an array that cannot be read: it is somebody's work, and isn't overwritten.
    `row`, `put` and `export` raise it where the disk refuses. `before` gives the heads of the step before,
    where rows of others are valid only for the row that they were found with.
    """

    def __init__(
        self, file: Path | None, journal: Journal, kind: RowKind, before: Before | None = None
    ) -> None:
        self._file = file
        self._journal = journal
        self._kind = kind
        self._before = before
        self._exported: tuple[int, ...] = ()
        self._seen: list[int] | None = None
        if file is not None:
            self._load(file)

    def heads(self) -> Mapping[Place, Head]:
        """The rows that the array has, in its order; where there is no array, all that there are."""
        return self._journal.latest if self._file is None else dict(self._in_array())

    def row(self, place: Place) -> Row:
        """The newest row of a place. Raises KeyError if there is none."""
        return self._journal.row(self._journal.latest[place])

    def rows(self) -> Iterator[Row]:
        """The rows of `heads`, one at a time in memory."""
        return map(json.loads, self._journal.texts(list(self.heads().values())))

    def others(self) -> Iterator[Row]:
        """Those of them that somebody else wrote, or edited."""
        return map(json.loads, self._journal.texts([head for _, head in self._in_array() if head.adopted]))

    def done(self, unit: Unit) -> bool:
        """Whether the row that the unit asks for was ever made; it need not be the newest of its place."""
        return self._journal.done(unit)

    def by_hand(self, place: Place) -> bool:
        """Whether the row of a place is somebody's own work, which is never made again unasked."""
        return self._kind.kept_by_hand and self._journal.by_hand(place)

    def count_since(self, since: float) -> None:
        """From now on only rows that were made since then count as done."""
        self._journal.since = since

    def put(self, outcome: RowResult) -> None:
        """Write down what became of a unit."""
        unit, at = outcome.unit, time.time()
        row = None if outcome.row is None else {**outcome.row, "key": unit.key}
        if row is not None and self._kind.dated:
            row["made"] = day_of(at)
        of = {} if unit.of is None else {"of": unit.of}
        more = {**of, "at": at, "spent": as_numbers(outcome.spending), "failed": outcome.failure}
        if outcome.ticket and outcome.spending:
            more["ticket"] = outcome.ticket
        self._journal.add(unit.place, unit.key, row, more)

    def outdated(self) -> set[Place]:
        """Of the rows in the array, those whose source is another row by now."""
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
        return list(self._journal.failures.items())

    def spending(self) -> dict[str, Spending]:
        """By role, what all rows ever cost, failed ones too."""
        return self._journal.spending

    @property
    def paid_rows(self) -> int:
        """How many rows `spending` has made."""
        return self._journal.paid_rows

    def export(self, units: Collection[Unit], spared: Callable[[Place], bool] = lambda _: False) -> bool:
        """Write the array if it would change: done units in this order, then rows of others for no unit.

        A row of ours that no unit asks for is one of other settings, or of something that is gone: it is left
        out, unless its place is `spared`, since nobody asked for it to be made again. Says whether the array
        was written; a table without one has nothing to write.
        """
        if self._file is None:
            return False
        if self._seen != (seen := _size_and_time(self._file)) and seen is not None:
            self._adopt(self._file)  # edited while the run went on
        wanted = self._wanted(units, spared)
        if self._holds(wanted) and (self._file.exists() or not wanted):
            return False
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with locked(self._file.parent):
                write_atomically(self._file, array_of(self._journal.texts(wanted)))
        except (OSError, TimeoutError) as error:
            raise unusable(self._file, "written", error) from None
        self._sign(self._file, tuple(head.offset for head in wanted))
        return True

    def close(self) -> None:
        """Let go of the journal's file."""
        self._journal.close()

    def _wanted(self, units: Collection[Unit], spared: Callable[[Place], bool]) -> list[Head]:
        done = {unit.place: self._journal.current(unit) for unit in units if self.done(unit)}
        others = {place: head for place, head in self._others(units, spared) if place not in done}
        # A score by others of a conversation that is gone is a score of nothing.
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
            # Others may sort their file as they like; that is no reason to rewrite it.
            return sorted(offsets) == sorted(self._exported)
        return offsets == list(self._exported)

    def _in_array(self) -> Iterator[tuple[Place, Head]]:
        by_offset = {head.offset: (place, head) for place, head in self._journal.latest.items()}
        return (by_offset[offset] for offset in self._exported if offset in by_offset)

    # An array that others may have edited

    def _load(self, file: Path) -> None:
        """What is in the array; one with rows whose lines are lost is read like anybody else's."""
        seen = _size_and_time(file)
        exported = () if seen is None else _stamped(self._journal.stamp, seen)
        if exported is None or not self._journal.has(exported):
            self._adopt(file)
        else:
            self._seen, self._exported = seen, exported
            self._journal.keep_only(frozenset(exported))

    def _adopt(self, file: Path) -> None:
        """Add the rows of an array that isn't as we wrote it, except those that are as we know them."""
        found: dict[Place, int] = {}
        before = self._before() if self._before else None
        step = self._step(file, before) if before else 0
        for number, row in enumerate(_items(file), 1):
            place = self._place(file, number, row, found, step)
            if not self._has(place, row):
                # When it was added is no sign of its age: only what the row says is.
                day = made_at(0.0, str(row.get("made", "")))
                more = {"adopted": True, **_found_with(place, before), **day}
                self._journal.add(place, str(row.get("key") or ""), row, more)
            found[place] = self._journal.latest[place].offset
        self._journal.keep_only(frozenset(found.values()))
        self._sign(file, tuple(found.values()))

    def _step(self, file: Path, before: Mapping[Place, Head]) -> int:
        """What is to be added to the samples of others, so that they are those of the step before."""
        places = (
            self._places(file, number, row)[0]
            for number, row in enumerate(_items(file), 1)
            if not _has_key(row)
        )
        return step_to({(one.id, one.sample) for one in before}, {(one.id, one.sample) for one in places})

    def _places(self, file: Path, number: int, row: Any, step: int = 0) -> tuple[Place, ...]:
        try:
            places = self._kind.places(row, self._journal.target)
        except ResultsError as error:
            raise ResultsError(f"{shown_path(file)}: row {number}: {error}") from None
        if not step or _has_key(row):
            return places
        return tuple(replace(place, sample=place.sample + step) for place in places)

    def _place(self, file: Path, number: int, row: Any, found: Mapping[Place, int], step: int) -> Place:
        places = self._places(file, number, row, step)
        if free := [place for place in places if place not in found]:
            return free[0]
        raise ResultsError(
            f"{shown_path(file)}: row {number} is the second one for {places[0].text}; leave one of them, or "
            "give each its own `id` and `sample`"
        )

    def _has(self, place: Place, row: Row) -> bool:
        head = self._journal.latest.get(place)
        try:
            return head is not None and self._journal.row(head) == row
        except ValueError:  # a line that the disk has spoilt
            return False

    def _sign(self, file: Path, offsets: tuple[int, ...]) -> None:
        """Remember that the array is ours, and what is in it."""
        self._seen, self._exported = _size_and_time(file), offsets
        self._journal.write_stamp({"file": self._seen, "offsets": offsets})


def _has_key(row: Any) -> bool:
    """Whether it is a row of ours."""
    return isinstance(row, Mapping) and bool(row.get("key"))


def _found_with(place: Place, before: Mapping[Place, Head] | None) -> dict[str, str]:
    """Which row of the step before was there with a row of others; none is an answer, too."""
    if before is None:
        return {}
    source = before.get(replace(place, metric_id=""))
    return {"of": source.digest if source else ""}


def _stamped(stamp: Path, seen: list[int]) -> tuple[int, ...] | None:
    """Where the rows of the array are in the journal, in order; None if it may not be as we wrote it."""
    try:
        found = json.loads(read_file(stamp))
        # Size and time, as make does it: reading 100 MB to compare would cost each start seconds.
        return tuple(dict.fromkeys(found["offsets"])) if found["file"] == seen else None
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
