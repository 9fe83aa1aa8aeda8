"""Tables: aligned, without boxes. In a terminal they fit its width; in a pipe nothing is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..text import cell_width
from .console import Console

_GAP = "  "
# Down to the first while columns can still go, then down to the second.
_COMFORTABLE, _NARROWEST = 24, 8


@dataclass(frozen=True)
class Column:
    """One column.

    A `flexible` one gives way where the terminal is narrow, its cells lose their middle. After that
    columns go, those with the highest `rank` first; one of rank 0 stays. A `sparse` one is left out where no
    row has anything in it.
    """

    title: str
    right: bool = False
    flexible: bool = False
    rank: int = 0
    sparse: bool = False


@dataclass(frozen=True)
class Cell:
    """Text in a colour. The text may come from anywhere."""

    text: str
    color: str = ""


Row = Sequence["str | Cell"]


def print_table(console: Console, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print the rows below the titles of their columns."""
    console.write(table_lines(console, columns, rows))


def table_lines(console: Console, columns: Sequence[Column], rows: Sequence[Row]) -> list[str]:
    """The lines of a table: the titles, then the rows."""
    cells = [[_cell(console, value) for value in row] for row in rows]
    filled = [
        place for place, one in enumerate(columns) if not one.sparse or any(row[place].text for row in cells)
    ]
    columns = [columns[place] for place in filled]
    head = [Cell(column.title, "bold") for column in columns]
    cells = [head, *([row[place] for place in filled] for row in cells)]
    widths = [max(cell_width(row[index].text) for row in cells) for index in range(len(columns))]
    kept, fitted = _fit(console, columns, widths)
    return [_line(console, columns, row, kept, fitted) for row in cells]


def _cell(console: Console, value: str | Cell) -> Cell:
    cell = value if isinstance(value, Cell) else Cell(value)
    return Cell(console.safe(cell.text), cell.color)


def _fit(console: Console, columns: Sequence[Column], widths: list[int]) -> tuple[list[int], list[int]]:
    """The columns to show, by index, and how wide each of all of them may be."""
    kept = list(range(len(columns)))
    if console.width is None:
        return kept, widths
    while True:
        spare = [index for index in kept if columns[index].rank]
        fitted = _shrunk(columns, widths, kept, console.width, _COMFORTABLE if spare else _NARROWEST)
        if not spare or _total(fitted, kept) <= console.width:
            return kept, fitted
        # Whole columns go before cells are cut to a few letters, which say nothing.
        kept.remove(max(spare, key=lambda index: columns[index].rank))


def _shrunk(
    columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int], room: int, floor: int
) -> list[int]:
    """The widths after flexible columns gave way, the widest first, none of them below the floor."""
    fitted = list(widths)
    while (excess := _total(fitted, kept) - room) > 0:
        flexible = [index for index in kept if columns[index].flexible and fitted[index] > floor]
        if not flexible:
            break
        widest = max(flexible, key=lambda index: fitted[index])
        others = sorted(fitted[index] for index in flexible if index != widest)
        # Down to the next widest at most: then both give way.
        step = max(1, fitted[widest] - max(floor, others[-1] if others else floor))
        fitted[widest] -= min(excess, step)
    return fitted


def _total(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[index] for index in kept) + len(_GAP) * (len(kept) - 1)


def _line(
    console: Console, columns: Sequence[Column], row: Sequence[Cell], kept: Sequence[int], widths: list[int]
) -> str:
    parts = []
    for index in kept:
        text = cut_middle(row[index].text, widths[index], console)
        blank = " " * (widths[index] - cell_width(text))
        painted = console.paint(text, row[index].color)
        parts.append(blank + painted if columns[index].right else painted + blank)
    return _GAP.join(parts).rstrip()


def cut_middle(text: str, width: int, console: Console) -> str:
    """The text in at most `width` columns: its start and, longer, its end: ids differ there."""
    if cell_width(text) <= width:
        return text
    mark = console.ours("…")
    room = max(1, width - len(mark))
    return _start(text, room // 3) + mark + _start(text[::-1], room - room // 3)[::-1]


def _start(text: str, width: int) -> str:
    while cell_width(text) > width:
        text = text[: max(0, min(len(text) - 1, width))] if len(text) > width else text[:-1]
    return text
