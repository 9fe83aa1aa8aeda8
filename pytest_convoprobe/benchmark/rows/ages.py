"""How old conversations are, in words: a verdict on old ones may be a verdict on another agent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from ...formatting import counted
from .journal import Head
from .work import Place


def span_of(days: Iterable[str]) -> str:
    """`2026-11-20`, or `2026-11-18 to 2026-11-20`; empty where no day is known."""
    known = sorted(filter(None, days))
    if not known:
        return ""
    return known[0] if known[0] == known[-1] else f"{known[0]} to {known[-1]}"


@dataclass(frozen=True)
class ConversationAges:
    """The conversations of a target: how many there are, and of those from before a run the day, by place.

    A day is empty where it isn't known: rows of others, and of earlier versions, don't say it.
    """

    places: Collection[Place]
    old: Mapping[Place, str]

    @classmethod
    def of(cls, heads: Mapping[Place, Head], since: float) -> ConversationAges:
        """Of the rows of a table; those are old that weren't made `since` then."""
        # An unknown time is 0, and so old: nobody can say that it isn't.
        return cls(heads.keys(), {place: head.day for place, head in heads.items() if head.at < since})

    def words(self, chosen: Callable[[Place], bool] = lambda _: True) -> str:
        """`12 of 40 conversations are from 2026-11-20`, for the chosen places; empty if none is old."""
        total = sum(map(chosen, self.places))
        days = [day for place, day in self.old.items() if chosen(place)]
        dated = [day for day in days if day]
        return "; ".join(
            f"{number:,} of {counted(total, 'conversation')} {'is' if number == 1 else 'are'} {when}"
            for number, when in (
                (len(dated), f"from {span_of(dated)}"),
                (len(days) - len(dated), "of unknown age"),
            )
            if number
        )
