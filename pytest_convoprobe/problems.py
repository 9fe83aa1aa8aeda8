"""What is wrong with an input file, and where: one line of an error that names files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .text import cell_width, without_commands


@dataclass(frozen=True)
class Inclusion:
    """A place that takes something from another file."""

    file: str
    line: int


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a file, with the place where it is.

    `line` and `column` count from 1; 0 means that the place is not known.
    `path` is the key's path (`synthetic_user.traits.patience`), empty at the top. `advice` says what to
    do; it may have several lines and holds no text from a file. `remedies` are as in `ConvoprobeError`.
    `included_from` are the places through which the file is part of another one, the innermost first.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    source_line: str = ""
    advice: str = ""
    remedies: tuple[str, ...] = ()
    included_from: tuple[Inclusion, ...] = ()

    def masked(self, mask: Callable[[str], str]) -> Problem:
        """The same without the secrets that `mask` knows."""
        return replace(self, message=mask(self.message), source_line=mask(self.source_line))

    def renamed(self, name: Callable[[str], str]) -> Problem:
        """The same with other names for the files."""
        chain = tuple(Inclusion(name(one.file), one.line) for one in self.included_from)
        return replace(self, file=name(self.file), included_from=chain)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        head = _printable(": ".join(part for part in (place, self.path, self.message) if part))
        excerpt = self._excerpt() if self.source_line.strip() else ""
        # A CI system obeys what its log says, and the line may be a stranger's.
        chain = [_printable(f"    included from {one.file}:{one.line}") for one in self.included_from]
        return without_commands("\n".join(part for part in (head, excerpt, *chain, self.advice) if part))

    def _excerpt(self) -> str:
        """The offending line, or the part of it around the column, with a caret below it."""
        line = _printable(self.source_line.expandtabs(1).rstrip("\n"))
        start = max(0, self.column - 1 - 60)
        shown = line[start : start + 100]
        before = shown[: max(0, self.column - 1 - start)]
        return f"    {shown}\n    {' ' * cell_width(before)}^"


def by_place(problem: Problem) -> tuple[int, int, int, int]:
    """For sorting: from the top of the file, with what it includes where it does so."""
    outer = problem.included_from[-1].line if problem.included_from else problem.line
    inner = (problem.line, problem.column)
    return (outer, 0, *inner) if problem.included_from else (outer, problem.column, 0, 0)


def _printable(text: str) -> str:
    """One character for one: what could move a terminal's cursor or turn text around becomes `?`."""
    return "".join(character if character.isprintable() else "?" for character in text)
