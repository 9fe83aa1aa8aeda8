"""What comparing two runs of a benchmark finds, and its JSON: `validation.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...stats import Interval
from ..format.model_swap import SwappedRole
from .results import Rate, ends, rounded

TRACKS = ("overall", "positive", "negative")


@dataclass(frozen=True)
class Shift:
    """By how much the pass rate is higher on the second side; `interval` None where it can't be told."""

    difference: float
    interval: Interval | None

    def to_json(self) -> dict[str, Any]:
        return {"difference": rounded(self.difference), "interval": ends(self.interval)}


@dataclass(frozen=True)
class TargetShift:
    """One target on both sides. Places count from 1, the highest pass rate first; None if it has none.

    Where the scenarios are the same, `shift` is the mean over scenarios, each counted once.
    """

    target: str
    before: Rate
    after: Rate
    place_before: int | None
    place_after: int | None
    shift: Shift | None

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "before": self.before.to_json(clustered=True),
            "after": self.after.to_json(clustered=True),
            "place_before": self.place_before,
            "place_after": self.place_after,
            "shift": self.shift.to_json() if self.shift else None,
        }


@dataclass(frozen=True)
class Correlation:
    """A correlation of two rankings, with its bootstrap interval; `reason` says why there is none."""

    value: float | None
    interval: Interval | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"value": rounded(self.value), "interval": ends(self.interval), "reason": self.reason}


@dataclass(frozen=True)
class Track:
    """The targets, by id, and how far the two sides agree on their order."""

    targets: tuple[TargetShift, ...]
    spearman: Correlation
    kendall: Correlation

    @property
    def moved(self) -> tuple[TargetShift, ...]:
        """The targets whose place changed."""
        return tuple(one for one in self.targets if one.place_before != one.place_after)

    def ranking(self, side: Literal["before", "after"]) -> tuple[TargetShift, ...]:
        """The targets of one side, the highest pass rate first; without those that have none."""
        name = f"place_{side}"
        ranked = [one for one in self.targets if getattr(one, name) is not None]
        return tuple(sorted(ranked, key=lambda one: (getattr(one, name), one.target)))

    def to_json(self) -> dict[str, Any]:
        return {
            "targets": [target.to_json() for target in self.targets],
            "spearman": self.spearman.to_json(),
            "kendall": self.kendall.to_json(),
        }


@dataclass(frozen=True)
class VerdictFlip:
    """A conversation that passes on one side and fails on the other."""

    target: str
    id: str
    sample: int
    metric_id: str
    before: bool
    after: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "id": self.id,
            "sample": self.sample,
            "metric_id": self.metric_id,
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True)
class EvaluatorAgreement:
    """Two evaluators on the same transcripts: the share that they see alike, and Cohen's kappa."""

    pairs: int
    same: float | None
    kappa: float | None
    interval: Interval | None

    def to_json(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "same": rounded(self.same),
            "kappa": rounded(self.kappa),
            "interval": ends(self.interval),
        }


@dataclass(frozen=True)
class ModelComparison:
    """Both sides compared; `first` and `second` are the models of `role`.

    `scenarios` counts them without their variants. `cells` are conversations with a verdict on both sides
    and `left_out` those with one on one side only; with other scenarios on either side there are neither,
    and no flips. `agreement` is there for evaluators only. Confidence is 95 %.
    """

    role: SwappedRole
    first: str
    second: str
    scenarios: int
    cells: int
    left_out: int
    tracks: Mapping[str, Track]
    flips: tuple[VerdictFlip, ...] = ()
    agreement: EvaluatorAgreement | None = None
    agreement_by_metric: Mapping[str, EvaluatorAgreement] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        by_metric = {metric_id: found.to_json() for metric_id, found in self.agreement_by_metric.items()}
        return {
            "role": self.role,
            "first": self.first,
            "second": self.second,
            "scenarios": self.scenarios,
            "cells": self.cells,
            "left_out": self.left_out,
            "tracks": {name: track.to_json() for name, track in self.tracks.items()},
            "flips": [flip.to_json() for flip in self.flips],
            "agreement": self.agreement.to_json() if self.agreement else None,
            "agreement_by_metric": by_metric,
            "notes": list(self.notes),
        }
