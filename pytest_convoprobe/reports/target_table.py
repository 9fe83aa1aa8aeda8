"""How each scenario did with each of several targets, as a table for every report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..formatting import counted
from ..result import Outcome
from ..text import cell_width, fold, harmless, one_line

_WORDS = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERROR: "error",
    Outcome.SKIPPED: "skipped",
}
_NAME_WIDTH, _TARGET_WIDTH, _LINE_WIDTH = 40, 20, 100
_CUT = "..."
"""Three characters that every terminal has."""


class TargetResult(Protocol):
    """A trial, whole or in short."""

    @property
    def name(self) -> str: ...

    @property
    def outcome(self) -> Outcome: ...

    @property
    def target_name(self) -> str: ...

    @property
    def base_id(self) -> str: ...


def plain_name(one: TargetResult) -> str:
    """The scenario's name without the target, which reports show beside it."""
    return one.name.removesuffix(f" [{one.target_name}]") if one.target_name else one.name


@dataclass(frozen=True)
class TargetCell:
    """The trials of a scenario with one target; without any, it did not run."""

    outcomes: tuple[Outcome, ...] = ()

    @property
    def all_passed(self) -> bool:
        return bool(self.outcomes) and set(self.outcomes) == {Outcome.PASSED}

    @property
    def words(self) -> str:
        """`passed`; `1 of 3` (that passed, of those with a verdict), with errors and skips beside it."""
        if len(self.outcomes) == 1:
            return _WORDS[self.outcomes[0]]
        return ", ".join(self._parts()) or "-"

    def _parts(self) -> Iterator[str]:
        passed, failed = (self.outcomes.count(one) for one in (Outcome.PASSED, Outcome.FAILED))
        if passed or failed:
            yield f"{passed:,} of {passed + failed:,}"
        if errors := self.outcomes.count(Outcome.ERROR):
            yield counted(errors, "error")
        if skipped := self.outcomes.count(Outcome.SKIPPED):
            yield f"{skipped:,} skipped"


@dataclass(frozen=True)
class TargetRow:
    """A scenario. `cells` are in the order of the table's targets."""

    base_id: str
    name: str
    cells: tuple[TargetCell, ...]

    @property
    def all_passed(self) -> bool:
        return all(cell.all_passed for cell in self.cells)


@dataclass(frozen=True)
class TargetTable:
    """The scenarios that ran with several targets, as they came, and the targets by their names."""

    targets: tuple[str, ...]
    rows: tuple[TargetRow, ...]

    def most_telling(self, count: int | None) -> tuple[TargetRow, ...]:
        """At most so many rows, in their order; those in which all passed go first."""
        if count is None or len(self.rows) <= count:
            return self.rows
        kept = sorted(self.rows, key=lambda row: row.all_passed)[:count]
        wanted = {row.base_id for row in kept}
        return tuple(row for row in self.rows if row.base_id in wanted)


def target_table_of(results: Iterable[TargetResult]) -> TargetTable | None:
    """The table of a run's trials; None if there aren't several targets."""
    found: dict[str, dict[str, list[Outcome]]] = {}
    names: dict[str, str] = {}
    unsorted: set[str] = set()
    for one in results:
        if one.target_name:
            unsorted.add(one.target_name)
            names.setdefault(one.base_id, plain_name(one))
            found.setdefault(one.base_id, {}).setdefault(one.target_name, []).append(one.outcome)
    if len(unsorted) < 2:
        return None
    targets = tuple(sorted(unsorted))
    rows = (
        TargetRow(base, names[base], tuple(TargetCell(tuple(cells.get(target, ()))) for target in targets))
        for base, cells in found.items()
    )
    return TargetTable(targets, tuple(rows))


def target_table_lines(found: TargetTable, rows: int | None) -> list[str]:
    """The table for a terminal, with at most so many rows, cut where it is too wide."""
    shown = found.most_telling(rows)
    head = ["target:", *(_short(target, _TARGET_WIDTH) for target in found.targets)]
    table = [head, *([_short(row.name, _NAME_WIDTH), *(cell.words for cell in row.cells)] for row in shown)]
    widths = [max(cell_width(line[place]) for line in table) for place in range(len(head))]
    fitting = _fitting(widths)
    lines = [_line(line[:fitting], widths) for line in table]
    return [*lines, *_left_out(found, len(found.targets) + 1 - fitting, len(shown))]


def _left_out(found: TargetTable, targets: int, shown: int) -> Iterator[str]:
    if targets:
        names = ", ".join(map(harmless, found.targets[-targets:]))
        yield f"  and {counted(targets, 'more target')}: {names}"
    kept = {row.base_id for row in found.most_telling(shown)}
    if hidden := [row for row in found.rows if row.base_id not in kept]:
        how = "all of them passed" if all(row.all_passed for row in hidden) else "-v lists them"
        yield f"  and {counted(len(hidden), 'more scenario')} ({how})"


def _fitting(widths: Sequence[int]) -> int:
    """How many columns have room; two at least: that of the names, and one target."""
    total = 0
    for place, width in enumerate(widths):
        total += width + 2
        if total > _LINE_WIDTH and place > 1:
            return place
    return len(widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (text + " " * (widths[place] - cell_width(text)) for place, text in enumerate(cells))
    return f"  {'  '.join(padded)}".rstrip()


def _short(text: str, width: int) -> str:
    line = harmless(one_line(text))
    if cell_width(line) <= width:
        return line
    return fold(line, width - len(_CUT))[0] + _CUT
