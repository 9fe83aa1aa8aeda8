"""What the decisions about its scenarios come to for a whole run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .drift import Drift
from .prior import prior_of
from .types import Decision, Ruling, Word


@dataclass(frozen=True)
class SuiteDecision:
    """A run's decision. `decisions` are those about its scenarios, in the order of their ids.

    `drift` is the test of all scenarios together; None if none of them has a past. `first_failed` of
    `first_talks` conversations failed, the first of each scenario with a past, where `expected` would have.
    Of `broken` scenarios nothing is decided, since a conversation ended in an error.
    """

    decisions: tuple[Decision, ...]
    drift: Ruling | None = None
    first_failed: int = 0
    first_talks: int = 0
    expected: float = 0.0
    broken: int = 0

    @property
    def word(self) -> Word:
        """Red if a scenario that blocks is red, or all together are; else green if one scenario at least is.

        With an error it isn't green: nobody knows what that scenario would have come to.
        """
        if any(blocks(one) and one.word is Word.RED for one in self.decisions) or self.has_drifted:
            return Word.RED
        return Word.GREEN if self.count(Word.GREEN) and not self.broken else Word.UNDECIDED

    @property
    def has_drifted(self) -> bool:
        """Whether the scenarios together fail more often than before."""
        return self.drift is not None and self.drift.word is Word.RED

    def count(self, word: Word) -> int:
        """How many scenarios that is decided of."""
        return sum(one.word is word for one in self.decisions)


def decide_suite(
    decisions: Mapping[str, Decision],
    first_failed: Mapping[str, bool],
    alpha: float,
    erred: Iterable[str] = (),
) -> SuiteDecision:
    """The decision about a run. `first_failed` says of each scenario whether its first conversation failed.

    `erred` are the scenarios with a conversation that ended in an error. One that is decided all the same has
    had another in its place.

    It depends on neither the order of the scenarios nor on which process ran them.
    """
    every = tuple(decisions[name] for name in sorted(decisions))
    broken = len(set(erred) - set(decisions))
    compared = [
        (one.past, first_failed[one.scenario_id])
        for one in every
        if one.past is not None and blocks(one) and one.scenario_id in first_failed
    ]
    if not compared:
        return SuiteDecision(every, broken=broken)
    prior = prior_of(one.past for one in every if one.past is not None)
    ruling = Drift(prior, alpha).rule(compared)
    failed, expected = sum(found for _, found in compared), sum(prior.rate(past) for past, _ in compared)
    return SuiteDecision(every, ruling, failed, len(compared), expected, broken)


def blocks(decision: Decision) -> bool:
    """Whether a scenario may make the run fail."""
    return decision.mode == "block"
