"""The evidence that something fails more often than before, as a number that may be looked at any time.

Two people predict the conversations. One knows the past, and that the failure rate hasn't changed. The other
bets that it is worse now. The ratio of the chances that they gave to what happened is the evidence. While
nothing has changed, the ratio is 1 on average over the rates that the first one thinks possible.

A user has one rate, and not an average of rates: for some rates the ratio is above 1 on average, since a past
of 20 conversations may have been lucky. Its average is never above `DISCOUNT`, whatever the rate is and
whenever one stops looking. So the e-value is the ratio divided by that. `tests/gate` adds up all pasts and
all courses of conversations to check it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .types import Past

DISCOUNT = 3.0
"""What not to know the rate before costs: the largest average of the ratio is 2.8."""

# Before anything was seen, every failure rate counts by Jeffreys' prior, Beta(1/2, 1/2). A prior from the
# other scenarios of the suite would be sharper, and wrong for a scenario that isn't like them: with a past
# of 8 conversations, up to five times as many false alarms as promised.
_HALF = 0.5


@dataclass(frozen=True)
class Bet:
    """A guess of how much is broken: this part of what passed before fails now.

    `share` of the stake is on it. `sure` is how many conversations the guess is worth against what is seen.
    """

    share: float
    broken: float
    sure: float


SCENARIO_BETS = (Bet(share=0.8, broken=0.45, sure=4), Bet(share=0.2, broken=0.93, sure=10))
"""A broken scenario fails about half of the time, or nearly always: the judge still misses a few."""


def e_value(failed: int, talks: int, past: Past, bets: Sequence[Bet] = SCENARIO_BETS) -> float:
    """The evidence after `failed` of `talks` conversations. Large where it fails more often."""
    return ratio(failed, talks, past, bets) / DISCOUNT


def ratio(failed: int, talks: int, past: Past, bets: Iterable[Bet] = SCENARIO_BETS) -> float:
    """How much better the bets predicted the conversations than somebody who only knows the past."""
    before = log_predicted(failed, talks, *_known(past))
    return sum(bet.share * math.exp(_log_bet(failed, talks, past, bet) - before) for bet in bets)


def rate_before(past: Past) -> float:
    """The failure rate that a past suggests, never 0 or 1."""
    a, b = _known(past)
    return a / (a + b)


def log_predicted(failed: int, talks: int, a: float, b: float) -> float:
    """The logarithm of the chance of one course with so many fails, of a rate drawn from Beta(a, b)."""
    return _log_beta(a + failed, b + talks - failed) - _log_beta(a, b)


def _log_bet(failed: int, talks: int, past: Past, bet: Bet) -> float:
    rate = rate_before(past)
    worse = rate + (1 - rate) * bet.broken
    # At least as many fails as the past had: else one more fail could lower the evidence.
    a = max(bet.sure * worse, _known(past)[0])
    return log_predicted(failed, talks, a, a * (1 - worse) / worse)


def _known(past: Past) -> tuple[float, float]:
    return past.failed + _HALF, past.talks - past.failed + _HALF


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
