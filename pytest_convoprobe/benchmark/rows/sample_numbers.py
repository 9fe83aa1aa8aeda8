"""The numbers of samples: ours count from 1, those of other systems from 0, and some files have both."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

Sample = tuple[str, int]
"""A scenario's id and the number of one of its conversations."""


class Numbering:
    """Which samples each scenario should have, by those that there are.

    `count` is how many each should have: as many as are `wanted`, or as the one with most has.
    """

    def __init__(self, wanted: int, stored: Iterable[Sample]) -> None:
        self._ends: dict[str, tuple[int, int]] = {}
        for name, sample in stored:
            low, high = self._ends.get(name, (sample, sample))
            self._ends[name] = (min(low, sample), max(high, sample))
        self._base = min([1, *(low for low, _ in self._ends.values())])
        sizes = [high - self._base + 1 for low, high in self._ends.values() if self._base == 1 or low < 1]
        self.count = max([wanted, *sizes])

    def first(self, name: str) -> int:
        """The number of a scenario's first sample: that of the whole file, unless its own don't fit it."""
        low, high = self._ends.get(name, (self._base, self._base))
        # Of three samples, 1, 2 and 3 are all there; after 0 to 2, the last would be one too many.
        return 1 if low >= 1 and high >= self._base + self.count else self._base

    def of(self, name: str) -> range:
        """The numbers of all samples of a scenario."""
        first = self.first(name)
        return range(first, first + self.count)


def step_to(conversations: Collection[Sample], scores: AbstractSet[Sample]) -> int:
    """What to add to the samples of scores by others, so that each is that of its conversation.

    It is 1 or -1 where one file counts from 0 and the other from 1 (or has no numbers, which is 1): with the
    step every score has its conversation, without it not every one. Otherwise it is 0.
    """
    there = set(conversations)
    names = {name for name, _ in there}
    known = {score for score in scores if score[0] in names}
    if known <= there:
        return 0
    return next((step for step in (1, -1) if {(name, sample + step) for name, sample in known} <= there), 0)
