"""Scores for other metrics than a scenario's own. What an earlier run asked for stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..rows.table import Table
from ..rows.work import Stage, Unit


@dataclass(frozen=True)
class OnlyMadeCrossScores:
    """The stage of all scores, without those for other metrics that no run has made."""

    stage: Stage
    scores: Callable[[str], Table]

    @property
    def name(self) -> str:
        return self.stage.name

    def units(self) -> Iterator[Unit]:
        for unit in self.stage.units():
            if not unit.place.metric_id or self.scores(unit.place.target).done(unit):
                yield unit

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        return self.stage.payload(unit)

    def calls(self, unit: Unit) -> Mapping[str, int]:
        return self.stage.calls(unit)
