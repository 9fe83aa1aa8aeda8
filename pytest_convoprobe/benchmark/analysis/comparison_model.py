"""What comparing two runs of a benchmark finds, and its JSON: `validation.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..format.model_swap import SwappedRole
from .figures import Ends, Number, Stored
from .results import Rate

TRACKS = ("overall", "positive", "negative")


@dataclass(frozen=True)
class Shift(Stored):
    """By how much the pass rate is higher on the second side; `interval` None where it is unknown."""

    difference: Number
    interval: Ends | None


@dataclass(frozen=True)
class TargetShift(Stored):
    """One target on both sides. Places count from 1, the highest pass rate first; None if it has none.

    Where the scenarios are the same, `shift` is the mean over scenarios, each counted once.
    """

    target: str
    before: Rate
    after: Rate
    place_before: int | None
    place_after: int | None
    shift: Shift | None


@dataclass(frozen=True)
class Correlation(Stored):
    """A correlation of two rankings, with its bootstrap interval; `reason` says why there is none."""

    value: Number | None
    interval: Ends | None
    reason: str = ""


@dataclass(frozen=True)
class Track(Stored):
    """The targets, by id, and how far the two sides agree on their order."""

    targets: tuple[TargetShift, ...]
    spearman: Correlation
    kendall: Correlation

    @property
    def moved(self) -> tuple[TargetShift, ...]:
        """The targets whose place changed."""
        return tuple(one for one in self.targets if one.place_before != one.place_after)


@dataclass(frozen=True)
class VerdictFlip(Stored):
    """A conversation that passes on one side and fails on the other."""

    target: str
    id: str
    sample: int
    metric_id: str
    before: bool
    after: bool


@dataclass(frozen=True)
class EvaluatorAgreement(Stored):
    """Two evaluators on the same transcripts: the share that they see alike, and Cohen's kappa."""

    pairs: int
    same: Number | None
    kappa: Number | None
    interval: Ends | None


@dataclass(frozen=True)
class ModelComparison(Stored):
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
