"""What an import took over and what it didn't: for a terminal, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from ..files import shown_path
from ..formatting import counted
from ..importing.notes import Account, Fate, ImportedSuite, ImportNote
from ..importing.writing import WrittenFile

_MOST_PLACES = 3
_HEADS = {
    Fate.LOST: ("no longer checked", "red"),
    Fate.CHANGED: ("checked in another way", "yellow"),
    Fate.LEFT_OUT: ("not taken over, and no checks", ""),
}


class AccountLine(NamedTuple):
    """A line of the report. It may have texts of the source, so it has to be made harmless."""

    text: str
    color: str = ""
    indent: int = 0


def lines(suites: Sequence[ImportedSuite], written: Sequence[Sequence[WrittenFile]]) -> Iterator[AccountLine]:
    """The report: the files, what became of everything by its kind, and the sums."""
    several = len(suites) > 1
    for suite, files in zip(suites, written, strict=True):
        if several:
            yield AccountLine(f"{suite.file}: {_sums(Account.of([suite]))}", "bold")
        for file in files:
            same = " (was there already, the same)" if file.kept else ""
            yield AccountLine(
                f"{shown_path(file.path)}: {counted(file.scenarios, 'scenario')}{same}", "green"
            )
        yield from _notes(suite.every_note)
    yield AccountLine(_sums(Account.of(suites)), "bold")


def _sums(account: Account) -> str:
    """`12 tests → 12 scenarios; 31 of 40 checks taken over, 9 no longer checked`."""
    changed = f", {account.changed:,} checked in another way" if account.changed else ""
    lost = f", {account.lost:,} no longer checked" if account.lost else ""
    return (
        f"{counted(account.tests, 'test')} → {counted(account.scenarios, 'scenario')}; {account.taken:,} of "
        f"{counted(account.checks, 'check')} taken over{changed}{lost}"
    )


def _notes(notes: Sequence[ImportNote]) -> Iterator[AccountLine]:
    """The notes by what became of it, and the same ones together."""
    for fate, (words, color) in _HEADS.items():
        found = [note for note in notes if note.fate is fate]
        if found:
            yield AccountLine(f"{words} ({len(found):,}):", color, 0)
        groups: dict[tuple[str, str, str], list[str]] = {}
        for note in found:
            groups.setdefault((note.kind, note.why, note.advice), []).append(note.place)
        for (kind, why, advice), places in sorted(groups.items(), key=lambda group: -len(group[1])):
            yield AccountLine(f"{len(places):,}x {kind}: {why}", "", 2)
            if advice:
                yield AccountLine(f"to do: {advice}", "", 6)
            yield AccountLine(f"at {_places(places)}", "faint", 6)


def _places(places: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(places))
    more = f", and {len(distinct) - _MOST_PLACES:,} more" if len(distinct) > _MOST_PLACES else ""
    return ", ".join(distinct[:_MOST_PLACES]) + more


def as_data(suites: Sequence[ImportedSuite], written: Sequence[Sequence[WrittenFile]]) -> dict[str, Any]:
    """The same for programs, with each test and all places."""
    return {
        "account": asdict(Account.of(suites)),
        "suites": [
            {
                "format": suite.format,
                "file": suite.file,
                "written": [{**asdict(file), "path": str(file.path)} for file in files],
                "notes": [asdict(note) for note in suite.notes],
                "tests": [
                    {
                        "place": test.place,
                        "id": test.source_id,
                        "name": test.name,
                        "imported": test.scenario is not None,
                        "taken": test.taken,
                        "changed": test.changed,
                        "lost": test.lost,
                        "notes": [asdict(note) for note in test.notes],
                    }
                    for test in suite.tests
                ],
            }
            for suite, files in zip(suites, written, strict=True)
        ],
    }
