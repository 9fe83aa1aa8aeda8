"""Whether the suite as a whole fails more often than before, though no scenario shows it alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from .policies import DRIFT_SHARE
from .prior import Prior
from .types import Past, Ruling, Word

WORSE_BY = 0.15
"""The bet: every scenario fails this much more often."""

_LARGEST_RATE = 0.95


@dataclass(frozen=True)
class Drift:
    """The test of the suite, on the first conversation of each scenario with a past."""

    prior: Prior
    alpha: float = 0.05

    @property
    def red_from(self) -> float:
        """The e-value from which the suite is red."""
        return 1 / (DRIFT_SHARE * self.alpha)

    def rule(self, first_talks: Iterable[tuple[Past, bool]]) -> Ruling:
        """Red or green, from the past of each scenario and whether its first conversation failed."""
        e = math.exp(min(sum(self._log_factor(past, failed) for past, failed in first_talks), 700.0))
        return Ruling(Word.RED if e >= self.red_from else Word.GREEN, e, self.red_from)

    def _log_factor(self, past: Past, failed: bool) -> float:
        before = self.prior.rate(past)
        worse = max(min(before + WORSE_BY, _LARGEST_RATE), before)
        return math.log(worse / before) if failed else math.log((1 - worse) / (1 - before))
