"""Which items of a stage are to be handed out, which are out, and what becomes of those that get lost."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..rows.work import Item, RowResult, Unit

MOST_LOSSES = 3
"""An item is given up when so many worker processes were lost with it."""


@dataclass(frozen=True)
class Batch:
    """Items that go to one process together. With one that is `alone` the process does nothing else."""

    items: tuple[Item, ...]
    alone: bool = False


class WorkQueue:
    """Hands out each item until there is one outcome of it.

    An item that was lost once goes out again like any other. One that was lost twice may be what kills the
    processes: it comes last, alone in its process, so that it can take nothing along, and is given
    up with the third.
    """

    def __init__(self, items: Iterator[Item]) -> None:
        self._fresh = items
        self._again: deque[Item] = deque()
        self._suspects: deque[Item] = deque()
        self._out: dict[Unit, Item] = {}
        self._losses: Counter[Unit] = Counter()

    @property
    def finished(self) -> bool:
        """Whether there is an outcome of everything."""
        if self._again or self._suspects or self._out:
            return False
        # The source is lazy: only taking an item shows whether there is one.
        self._again.extend(self._more(1))
        return not self._again

    def take(self, most: int, *, idle: bool) -> Batch | None:
        """The next up to `most` items; `idle` says that the process has no others. None: not now."""
        items = self._next(most)
        alone = not items and idle and bool(self._suspects)
        if alone:
            items = [self._suspects.popleft()]
        self._out.update((item.unit, item) for item in items)
        return Batch(tuple(items), alone) if items else None

    def delivered(self, outcome: RowResult) -> bool:
        """An outcome came; whether it is the first of its unit."""
        return self._out.pop(outcome.unit, None) is not None

    def lost(self, batch: Batch, reason: str) -> list[RowResult]:
        """The process of a batch is gone; the outcomes of those of its items that are given up."""
        given_up = []
        for item in batch.items:
            if self._out.pop(item.unit, None) is None:
                continue
            self._losses[item.unit] += 1
            losses = self._losses[item.unit]
            if losses >= MOST_LOSSES:
                failure = f"{losses} worker processes were lost while they did this; the last: {reason}"
                given_up.append(RowResult(item.unit, None, failure))
            else:
                (self._again if losses == 1 else self._suspects).append(item)
        return given_up

    def _next(self, most: int) -> list[Item]:
        items = [self._again.popleft() for _ in range(min(most, len(self._again)))]
        return items + self._more(most - len(items))

    def _more(self, most: int) -> list[Item]:
        return list(islice(self._fresh, most))
