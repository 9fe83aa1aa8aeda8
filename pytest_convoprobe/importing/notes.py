"""What becomes of a suite: its tests as scenarios, and a note on everything that isn't as it was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Fate(str, Enum):
    """What became of a part of a suite that could not be taken over as it is."""

    LOST = "lost"
    """A check that nothing makes any more."""

    CHANGED = "changed"
    """A check that is made in another way."""

    LEFT_OUT = "left out"
    """Something that isn't a check: a setting, data, a key that nobody knows."""


@dataclass(frozen=True)
class ImportNote:
    """One part of the source that isn't in a scenario as it was.

    `place` is where it is in the source, `kind` what it is in a few words (notes of one kind are counted
    together), `why` the reason, and `advice` what to do about it, if anything can be done.
    """

    fate: Fate
    place: str
    kind: str
    why: str
    advice: str = ""


@dataclass(frozen=True)
class ImportedTest:
    """One test of the source. `scenario` is None if none could be made of it.

    `taken` counts the checks that are made as they were. `place` and `source_id` say where the test is in the
    source, and what it is called there.
    """

    place: str
    source_id: str
    scenario: dict[str, Any] | None
    taken: int = 0
    notes: tuple[ImportNote, ...] = ()

    @property
    def name(self) -> str:
        """The name of the scenario; where there is none, what the source calls the test."""
        return str(self.scenario["name"]) if self.scenario else self.source_id

    @property
    def changed(self) -> int:
        """How many checks are made in another way."""
        return sum(note.fate is Fate.CHANGED for note in self.notes)

    @property
    def lost(self) -> int:
        """How many checks are no longer made."""
        return sum(note.fate is Fate.LOST for note in self.notes)


@dataclass(frozen=True)
class ImportedSuite:
    """All tests of one file. `notes` are those about the file as a whole."""

    format: str
    file: str
    tests: tuple[ImportedTest, ...]
    notes: tuple[ImportNote, ...] = ()

    @property
    def every_note(self) -> tuple[ImportNote, ...]:
        """Those about the file, then those about each test."""
        return (*self.notes, *(note for test in self.tests for note in test.notes))


@dataclass(frozen=True)
class Account:
    """How many tests and checks of suites were taken over."""

    tests: int
    scenarios: int
    taken: int
    changed: int
    lost: int
    left_out: int

    @classmethod
    def of(cls, suites: Iterable[ImportedSuite]) -> Account:
        """The sums over suites."""
        every = tuple(suites)
        tests = [test for suite in every for test in suite.tests]
        fates = [note.fate for suite in every for note in suite.every_note]
        return cls(
            tests=len(tests),
            scenarios=sum(test.scenario is not None for test in tests),
            taken=sum(test.taken for test in tests),
            changed=fates.count(Fate.CHANGED),
            lost=fates.count(Fate.LOST),
            left_out=fates.count(Fate.LEFT_OUT),
        )

    @property
    def checks(self) -> int:
        """All checks of the source."""
        return self.taken + self.changed + self.lost

    @property
    def whole(self) -> bool:
        """Whether everything that was checked still is."""
        return self.lost == 0 and self.scenarios == self.tests
