"""Whether the suite as a whole fails more often than before, though no scenario shows it alone.

All first conversations are taken as one sample, and all pasts as one past. Scenarios that fail at different
rates vary less in sum than scenarios of one rate (Hoeffding 1956), so this errs towards green.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .e_value import Bet, e_value
from .policies import DRIFT_SHARE, LEAST_FAILED, fit_to_gate
from .prior import Prior
from .types import Past, Ruling, Word

SUITE_BETS = (Bet(share=1.0, broken=0.15, sure=20),)
"""Of what passed before, about one conversation in seven fails now."""

# As `policies._SLACK`, for one look at the whole suite: of the value that Ville's inequality asks for, a
# fifteenth is enough. Added up for 3 to 300 scenarios with pasts of 8 to 50 conversations.
_SLACK = 15.0


@dataclass(frozen=True)
class Drift:
    """The test of the suite, on the first conversation of each scenario with a past."""

    prior: Prior
    alpha: float = 0.05

    @property
    def red_from(self) -> float:
        """The e-value from which the suite is red."""
        return 1 / (DRIFT_SHARE * self.alpha) / _SLACK

    def rule(self, first_talks: Iterable[tuple[Past, bool]]) -> Ruling:
        """Red or green, from the past of each scenario and whether its first conversation failed."""
        looked_at = [(past, failed) for past, failed in first_talks if past.talks and fit_to_gate(past)]
        failed = sum(one for _, one in looked_at)
        e = e_value(failed, len(looked_at), _together([past for past, _ in looked_at]), SUITE_BETS)
        red = failed >= LEAST_FAILED and e >= self.red_from
        return Ruling(Word.RED if red else Word.GREEN, e, self.red_from)


def _together(pasts: Sequence[Past]) -> Past:
    """One past, in which every scenario counts alike: as often as the one with the shortest past."""
    shortest = min((past.talks for past in pasts), default=0)
    failed = sum(shortest * past.failed / past.talks for past in pasts)
    # Rounded up: a suite that failed a little more often before is less easily worse now.
    return Past(-int(-failed // 1), shortest * len(pasts))
