"""What calls of a benchmark cost, written down as they end: also those for rows that were never finished.

Each process has a file of its own in `.rows/calls`, on any machine that has the folder. A row's line in the
journal has the ticket under which its calls were written down. Calls whose ticket is in no line are those of
rows that were interrupted. A run that ends keeps only these, in `lost`.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...files import Lines
from ...llm.budget import Spent
from ...llm.ledger import Spending
from ...llm.port import Role
from .spending import Sum, as_numbers

_FOLDER = "calls"
_LOST = "lost"
# Not `.jsonl`: those are the journals of steps.
_ENDING = ".calls"


class CallLog:
    """The calls that one process makes for one step. What the disk refuses is not written down."""

    def __init__(self, rows: Path, step: str) -> None:
        self._folder = rows / _FOLDER
        self._step = step
        self._lines = Lines(self._folder / f"{uuid4().hex}{_ENDING}")

    def sent(self, ticket: str, target: str, role: Role, guess: Spent) -> None:
        """A call is on its way, and may use this: if the process dies now, nobody will know better."""
        self._add([ticket, self._step, target, role.value, [1, 1, 0, guess.tokens, 0, guess.cost], True])

    def ended(self, ticket: str, target: str, role: Role, spent: Spending) -> None:
        """A call has ended, all its attempts included."""
        self._add(
            [ticket, self._step, target, role.value, as_numbers({role.value: spent})[role.value], False]
        )

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()

    def _add(self, line: list[Any]) -> None:
        # Of a folder that isn't on this machine, no part is to be made.
        if self._folder.parent.parent.is_dir():
            with contextlib.suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                self._lines.append(_line(line))


@dataclass
class _Row:
    """What is known of one attempt at a row: by role, the calls that ended and those that were sent."""

    step: str
    target: str
    ended: list[tuple[str, list[Any]]] = field(default_factory=list)
    sent: defaultdict[str, list[list[Any]]] = field(default_factory=lambda: defaultdict(list))

    def calls(self) -> Iterator[tuple[str, list[Any], bool]]:
        """Role and numbers of each call, and whether they are an estimate."""
        attempts: defaultdict[str, int] = defaultdict(int)
        for role, numbers in self.ended:
            attempts[role] += numbers[1]
            yield role, numbers, False
        for role, guesses in self.sent.items():
            # The last ones are those of which nothing was heard any more.
            for numbers in guesses[attempts[role] :]:
                yield role, numbers, True


@dataclass
class LostCalls:
    """What calls cost that belong to no row, by step and target; `estimated` of them nobody saw end."""

    sums: defaultdict[tuple[str, str], Sum] = field(default_factory=lambda: defaultdict(Sum))
    estimated: int = 0

    @classmethod
    def read(cls, rows: Path, tickets: Collection[str]) -> LostCalls:
        """Those whose ticket is none of the given."""
        lost = cls()
        for ticket, row in _read(rows).items():
            if ticket not in tickets:
                for role, numbers, guessed in row.calls():
                    lost.sums[row.step, row.target].add({role: numbers})
                    lost.estimated += guessed
        return lost


def has_calls(rows: Path) -> bool:
    """Whether a run has left calls that nobody has looked through, since it was interrupted."""
    return any((rows / _FOLDER).glob(f"*{_ENDING}"))


def keep_lost(rows: Path, tickets: Collection[str]) -> None:
    """Drop the calls of rows that are in a journal, and keep the others. Nobody may be at work."""
    files = list((rows / _FOLDER).glob(f"*{_ENDING}"))
    if not files:
        return
    with contextlib.suppress(OSError):
        known = _read_file(rows / _FOLDER / _LOST, {})
        lost = Lines(rows / _FOLDER / _LOST)
        for ticket, row in _read(rows).items():
            if ticket not in tickets and ticket not in known:
                lost.append(_whole(ticket, row))
        lost.close()
        for file in files:
            file.unlink()


def _whole(ticket: str, row: _Row) -> bytes:
    """The lines of a row, as they were."""
    calls = [(role, numbers, False) for role, numbers in row.ended]
    calls += [(role, numbers, True) for role, guesses in row.sent.items() for numbers in guesses]
    return b"".join(_line([ticket, row.step, row.target, *call]) for call in calls)


def _line(data: list[Any]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"


def _read(rows: Path) -> dict[str, _Row]:
    found: dict[str, _Row] = {}
    kept = set(_read_file(rows / _FOLDER / _LOST, found))
    for file in sorted((rows / _FOLDER).glob(f"*{_ENDING}")):
        # What is kept already is still in a file if a process was killed while it dropped the file.
        _read_file(file, found, kept)
    return found


def _read_file(file: Path, found: dict[str, _Row], besides: Collection[str] = ()) -> dict[str, _Row]:
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError:
        return found
    for text in lines:
        try:
            ticket, step, target, role, numbers, guessed = json.loads(text)
            *counts, cost = numbers
            good = len(counts) == 5 and isinstance(sum(counts), int) and isinstance(cost or 0.0, (int, float))
        except (ValueError, TypeError):
            continue  # the last line of a process that was killed
        if good and ticket not in besides:
            row = found.setdefault(ticket, _Row(step, target))
            if guessed:
                row.sent[role].append(numbers)
            else:
                row.ended.append((role, numbers))
    return found
