"""Which rows of a stage a run makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..rows.scenario_ids import parts_of
from ..rows.work import Place


@dataclass(frozen=True)
class Options:
    """What of a stage is to be made.

    `force` makes rows again that are done. `only` has patterns, separated by commas, for ids of rows, of
    scenarios without their variant, or of metrics; what is made of a metric before its scenarios is made if
    one of them is chosen. `limit` is the largest number of rows made in each stage. `dry_run` makes nothing
    and forecasts. `all_metrics` scores each conversation for every metric. `since` is when the run began,
    or the session that it belongs to (seconds since 1970): conversations from before are old. Those with the
    targets `talk_again` don't count as done then.
    """

    force: bool = False
    only: str = ""
    limit: int | None = None
    dry_run: bool = False
    all_metrics: bool = False
    since: float = 0.0
    talk_again: frozenset[str] = frozenset()

    def choose(self, place: Place) -> bool:
        """Whether `only` lets a row be made."""
        patterns = [part.strip() for part in self.only.split(",") if part.strip()]
        if not place.target and parts_of(place.id).number is None:
            patterns += [_OF_A_SCENARIO.sub("", pattern) for pattern in patterns]
        names = _names(place) if patterns else ()
        return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


_OF_A_SCENARIO = re.compile(r"(_s[\d?*\[\]!-]+)?(_v[\d?*\[\]!-]+)?$")
"""What a pattern for scenarios has behind the metric's id. Without it, it fits what is made of the metric."""


def _names(place: Place) -> tuple[str, ...]:
    """What a row may be called: its id, the scenario's, the metric that it is made for."""
    found = parts_of(place.id)
    return place.id, found.base, place.metric_id or found.metric
