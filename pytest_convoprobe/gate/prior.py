"""How often the scenarios of a suite fail, taken together: a beta distribution from their pasts.

A scenario's own past is short (20 conversations are typical). What the other scenarios did says what to
expect of one more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .types import Past

# The prior never weighs less than 2 conversations, nor more than 20: a suite of like scenarios must not
# drown what one scenario did itself.
LEAST_WEIGHT, MOST_WEIGHT = 2.0, 20.0

# Half a conversation: a suite that never failed can still fail once.
_LEAST_FAILED = 0.5


@dataclass(frozen=True)
class Prior:
    """A beta distribution of failure rates: as if `a` conversations had failed and `b` had passed."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        """The failure rate that is expected of a scenario without a past, from 0 to 1."""
        return self.a / (self.a + self.b)

    def rate(self, past: Past) -> float:
        """The failure rate that is expected of a scenario with this past, from 0 to 1."""
        return (past.failed + self.a) / (past.talks + self.a + self.b)


def prior_of(pasts: Iterable[Past]) -> Prior:
    """The prior of a suite, by the first two moments of its pasts' failure rates.

    Pasts without conversations don't count. Without any past, a rate of 5 % with the least weight.
    """
    known = [past for past in pasts if past.talks > 0]
    if not known:
        return _with_mean(0.05, LEAST_WEIGHT)
    talks = sum(past.talks for past in known)
    mean = max(sum(past.failed for past in known), _LEAST_FAILED) / (talks + 1)
    return _with_mean(mean, _weight(known, mean, talks / len(known)))


def _weight(known: list[Past], mean: float, mean_talks: float) -> float:
    """How alike the scenarios are: the spread of their rates beyond what chance gives."""
    rates = [past.failed / past.talks for past in known]
    centre = sum(rates) / len(rates)
    spread = sum((rate - centre) ** 2 for rate in rates) / len(rates)
    binomial = mean * (1 - mean)
    beyond = max(spread - binomial / mean_talks, 1e-9)
    return min(max(binomial / beyond - 1, LEAST_WEIGHT), MOST_WEIGHT)


def _with_mean(mean: float, weight: float) -> Prior:
    return Prior(a=mean * weight, b=(1 - mean) * weight)
