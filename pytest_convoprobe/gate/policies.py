"""The policies: what a scenario's conversations decide, and when one more is needed.

None of them looks at another scenario, at the clock or at a random number. So a decision is the same in
every order of scenarios and with any number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .e_value import e_value, rate_before
from .prior import Prior
from .types import Past, Policy, Ruling, Word

LEAST_PAST = 8
"""Conversations that a past needs: with fewer, `confirm` decides."""

DRIFT_SHARE = 0.2
"""The share of alpha that is spent on the suite as a whole (`drift`); the scenarios share the rest."""

RARELY = 0.06
"""A scenario that fails at most this often hardly ever fails: one failure means something."""

LEAST_FAILED = 2
"""One failed conversation never makes a scenario red, whatever its past was."""

# By Ville's inequality, an unchanged scenario reaches an e-value of 1/d with a chance of at most d. The gate
# reaches it far less often: it stops at the first pass, e-values grow in large steps, and the worst rate for
# stopping isn't the worst rate for crossing. The chance to reach a sixth of 1/d was added up over all pasts
# of 8 to 100 conversations, all rates and all courses of up to 20 conversations: still at most d. For up to
# 50 conversations, a quarter.
_SLACK, _SLACK_OF_LONG = 6.0, 4.0
_LONG = 20

# With one scenario, or a large alpha, a sixth of so small a value would be too low.
_LEAST_VILLE = 50.0

# Wald's lower boundary: one broken scenario in about five such decisions is taken for an unchanged one. To
# be surer costs more conversations than it finds: second looks find more (`forecast`).
_ACCEPT_BELOW = math.log(0.2)


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
        if sum(fails[: self.most]) >= LEAST_FAILED:
            return Ruling(Word.RED)
        if not any(fails) or len(fails) >= self.most:
            return Ruling(Word.GREEN)
        return None


@dataclass(frozen=True)
class Paired:
    """Red if the scenario fails more often than it did before, as an e-value says.

    `scenarios` is the number of scenarios that the run decides: they share `alpha`, the chance that an
    unchanged agent makes the run red. `prior` is what the suite as a whole suggests. Only the forecast of
    conversations uses it, no decision does.
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
        ville = self.scenarios / ((1 - DRIFT_SHARE) * self.alpha)
        return max(ville, _LEAST_VILLE) / (_SLACK if self.most <= _LONG else _SLACK_OF_LONG)

    def rule(self, fails: Sequence[bool]) -> Ruling | None:
        """The first decision among the conversations so far, looked at one by one after the first ones."""
        for talks in range(self.first, len(fails) + 1):
            ruling = self.after(sum(fails[:talks]), talks)
            if ruling is not None:
                return ruling
        return None

    def evidence(self, fails: Sequence[bool]) -> float:
        """The e-value of these conversations."""
        return e_value(sum(fails), len(fails), self.past)

    def after(self, failed: int, talks: int) -> Ruling | None:
        """What `failed` of `talks` conversations decide, if nothing was decided before."""
        e = e_value(failed, talks, self.past)
        word = self._word(failed, talks, e)
        return None if word is None else Ruling(word, e, self.red_from)

    def _word(self, failed: int, talks: int, e: float) -> Word | None:
        if failed == 0 or not fit_to_gate(self.past):
            return Word.GREEN
        if failed >= LEAST_FAILED and e >= self.red_from:
            return Word.RED
        if self._as_before(failed, talks):
            return Word.GREEN
        return Word.UNDECIDED if talks >= self.most else None

    def _as_before(self, failed: int, talks: int) -> bool:
        """Whether the past explains what is seen five times better than a worse scenario (Wald 1945)."""
        before = rate_before(self.past)
        worse = before + (1 - before) * _worth_looking_for(before)
        if_failed, if_passed = math.log(worse / before), math.log((1 - worse) / (1 - before))
        return failed * if_failed + (talks - failed) * if_passed <= _ACCEPT_BELOW


def _worth_looking_for(before: float) -> float:
    """The part of what passed before that must be broken now, for more conversations to be worth their cost.

    Of a scenario that hardly ever failed, less than half. If it fails in one of ten anyway, no number of
    conversations below `most` shows that half is broken; that nearly all is, a few show.
    """
    return 0.4 if before <= RARELY else 0.85
