"""What the audit needs to know of a suite. Pure: no files, no models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ..gate.policies import LEAST_PAST, fit_to_gate
from ..gate.types import Past


@dataclass(frozen=True)
class TalkVerdict:
    """A stored conversation with a verdict; `run` is the id of its run."""

    run: str
    failed: bool


@dataclass(frozen=True)
class AuditedScenario:
    """A scenario with its stored conversations.

    `sees` is the share of its mutants that it notices, from 0 to 1; None where that was never measured.
    `blocks` is False where its author set it aside. `first` and `most` are its numbers of conversations.
    """

    scenario_id: str
    talks: tuple[TalkVerdict, ...]
    sees: float | None = None
    blocks: bool = True
    first: int = 1
    most: int = 20

    @cached_property
    def past(self) -> Past:
        """All conversations as one past."""
        return Past(sum(talk.failed for talk in self.talks), len(self.talks))

    @cached_property
    def gates(self) -> bool:
        """Whether it can make a run fail: it blocks, and passed in at least half of its past."""
        return self.blocks and bool(self.talks) and fit_to_gate(self.past)


@dataclass(frozen=True)
class Rules:
    """How the suite gates. `max_talks` and `per_scenario` are the settings `gate.…` of these names."""

    policy: Literal["paired", "confirm", "each"] = "paired"
    alpha: float = 0.05
    per_scenario: float = 1.7
    max_talks: int | None = None


@dataclass(frozen=True)
class Halves:
    """A scenario's conversations, cut in two: what counts as the past, and what a new run would see."""

    past: Past | None
    head: tuple[bool, ...] = field(default=())


def halves(talks: Sequence[TalkVerdict], order: Sequence[str]) -> Halves:
    """Cut between runs, taken in this order of their ids, so that a difference between runs shows.

    The first half is the past, and at least as many conversations as a past needs. With too few for that,
    there is no past, and all of them are what a new run would see.
    """
    place = {run: number for number, run in enumerate(order)}
    fails = [talk.failed for talk in sorted(talks, key=lambda talk: place[talk.run])]
    if len(fails) <= LEAST_PAST:
        return Halves(None, tuple(fails))
    cut = max(LEAST_PAST, len(fails) // 2)
    return Halves(Past(sum(fails[:cut]), cut), tuple(fails[cut:]))
