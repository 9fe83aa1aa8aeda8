"""The policies: what a scenario's conversations decide, and when one more is needed.

None of them looks at another scenario, at the clock or at a random number. So a decision is the same in
every order of scenarios and with any number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .e_value import e_value
from .prior import Prior
from .types import Past, Policy, Ruling, Word

LEAST_PAST = 8
"""Conversations that a past needs: with fewer, `confirm` decides."""

DRIFT_SHARE = 0.2
"""The share of alpha that is spent on the suite as a whole (`drift`); the scenarios share the rest."""

# Wald's lower boundary: a broken scenario is taken for an unchanged one in about one of ten such decisions.
_ACCEPT_BELOW = math.log(0.1)


def long_enough(past: Past | None) -> bool:
    """Whether there is a past, and one that `Paired` can use."""
    return past is not None and past.talks >= LEAST_PAST


def fit_to_gate(past: Past) -> bool:
    """Whether a scenario passed in at least half of its past: one that mostly fails can't get worse."""
    return 2 * past.failed <= past.talks


def out_of_talks(policy: Policy, fails: Sequence[bool]) -> Ruling:
    """The ruling when another conversation is needed and can't be had: undecided, unless it is decided."""
    ruling = policy.rule(fails)
    if ruling is not None:
        return ruling
    if isinstance(policy, Paired):
        return Ruling(Word.UNDECIDED, policy.evidence(fails), policy.red_from)
    return Ruling(Word.UNDECIDED)


@dataclass(frozen=True)
class Each:
    """Every conversation is decided alone."""

    name = "each"
    first = 1
    most = 1

    def rule(self, fails: Sequence[bool]) -> Ruling | None:
        """Red if the first one failed, else green."""
        if not fails:
            return None
        return Ruling(Word.RED if fails[0] else Word.GREEN)


@dataclass(frozen=True)
class Confirm:
    """Red if two of at most three conversations fail. It needs no past."""

    first: int = 1
    most: int = 3
    name = "confirm"

    def rule(self, fails: Sequence[bool]) -> Ruling | None:
        """Green if the first ones pass, or if one failure isn't repeated in `most` conversations."""
        if len(fails) < self.first:
            return None
        if sum(fails[: self.most]) >= 2:
            return Ruling(Word.RED)
        if not any(fails) or len(fails) >= self.most:
            return Ruling(Word.GREEN)
        return None


@dataclass(frozen=True)
class Paired:
    """Red if the scenario fails more often than it did before, as an e-value says.

    `scenarios` is the number of scenarios that the run decides: they share `alpha`, the chance that an
    unchanged agent makes the run red.
    """

    past: Past
    prior: Prior
    scenarios: int
    alpha: float = 0.05
    first: int = 1
    most: int = 20
    name = "paired"

    @property
    def red_from(self) -> float:
        """The e-value from which the scenario is red."""
        return max(self.scenarios, 1) / ((1 - DRIFT_SHARE) * self.alpha)

    def rule(self, fails: Sequence[bool]) -> Ruling | None:
        """The first decision among the conversations so far, looked at one by one after the first ones."""
        for talks in range(self.first, len(fails) + 1):
            ruling = self._after(fails[:talks])
            if ruling is not None:
                return ruling
        return None

    def evidence(self, fails: Sequence[bool]) -> float:
        """The e-value of these conversations."""
        return e_value(sum(fails), len(fails), self.past, self.prior)

    def _after(self, fails: Sequence[bool]) -> Ruling | None:
        e = self.evidence(fails)
        if e >= self.red_from:
            return Ruling(Word.RED, e, self.red_from)
        if not any(fails) or self._as_before(fails):
            return Ruling(Word.GREEN, e, self.red_from)
        if len(fails) >= self.most:
            return Ruling(Word.UNDECIDED, e, self.red_from)
        return None

    def _as_before(self, fails: Sequence[bool]) -> bool:
        """Whether the past explains the conversations much better than a worse scenario (Wald 1945)."""
        failed, before = sum(fails), self.prior.rate(self.past)
        worse = min(max(before + 0.3, 0.5), 0.95)
        passed = len(fails) - failed
        ratio = failed * math.log(worse / before) + passed * math.log((1 - worse) / (1 - before))
        return ratio <= _ACCEPT_BELOW
