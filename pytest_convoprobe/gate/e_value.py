"""The evidence that a scenario fails more often than before, as a number that may be looked at any time.

The e-value compares two predictions of the conversations so far: one by somebody who thinks that the
scenario is broken, one by somebody who knows its past. While the scenario fails as before, the chance that
the ratio ever reaches `1 / d` is at most `d` (Ville 1939). So one may look after each conversation and stop.
"""

from __future__ import annotations

import math

from .prior import Prior
from .types import Past

# Half of the bet is on a scenario that fails about half of the time, half on one that fails nearly always.
BETS = ((0.5, 5.0, 5.0), (0.5, 10.0, 0.5))


def e_value(failed: int, talks: int, past: Past, prior: Prior) -> float:
    """The evidence after `failed` of `talks` conversations, from 0 to infinity; 1 says nothing."""
    before = log_predicted(failed, talks, prior.a + past.failed, prior.b + past.talks - past.failed)
    broken = (math.log(share) + log_predicted(failed, talks, fails, passes) for share, fails, passes in BETS)
    return sum(math.exp(min(bet - before, 700.0)) for bet in broken)


def log_predicted(failed: int, talks: int, a: float, b: float) -> float:
    """The logarithm of the chance of one sequence with so many fails, of a rate drawn from Beta(a, b)."""
    return _log_beta(a + failed, b + talks - failed) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
