"""What a benchmark's scores add up to, and its JSON: `results.json`.

::

    {"benchmark": name, "description": text, "confidence": 0.95,
     "metrics": [{"id", "name", "type": "positive" | "negative"}],
     "targets": [{"id", "conversations", "unreadable", "without_score", "without_conversation",
                  "overall": RATE, "positive": RATE, "negative": RATE,
                  "by_metric": [{"id", "name", "type", ...RATE}],
                  "by_scenario": {"m01_s001": RATE}, "by_variant": {"v01": RATE},
                  "by_demographic": {attribute: {value: RATE}}, "by_sample": {"1": RATE},
                  "agreement": null | {"units", "unanimous", "fleiss_kappa", "krippendorff_alpha",
                                       "single_with_majority"},
                  "gaps": [{"attribute", "first", "second", "difference", "interval", "pairs",
                            "p_value", "adjusted_p_value", "stands"}]}],
     "notes": [text]}

    RATE = {"pass_rate": 0.75 | null, "passed": 3, "scored": 4, "unreadable": 0, "missing": 0,
            "interval": [low, high] | null, "clustered_interval": [low, high] | null}

`interval` takes all trials for independent. `clustered_interval` is by scenario, because the trials of one
scenario resemble each other; within one scenario it is by variant. Groups in files of earlier versions have
none. Adjusted p-values are corrected for the gaps of all targets. What is not known is null, never 0. Numbers
are rounded to six digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    WrapSerializer,
    model_serializer,
    model_validator,
)

from ...errors import ResultsError
from ...stats import Gap, GapEstimate, Interval, ShareEstimate
from ...yaml_source import Document
from ...yaml_source.explain import explain
from ..format.models import MetricType
from .figures import Ends, Number, Stored, adapter, ends, rounded


@dataclass(frozen=True)
class Rate(Stored):
    """How many conversations passed, of those with a readable answer (`scored`).

    `unreadable` ones were evaluated, but the answer could not be read. `missing` ones should exist and have
    no score: they did not run, or were not evaluated. `interval` is Wilson's. `clustered` takes into account
    that conversations about one scenario resemble each other; it is None in files of earlier versions, too.
    `estimate` is what a gate computes its own interval from; it is in no file.
    """

    passed: int = 0
    scored: int = 0
    unreadable: int = 0
    missing: int = 0
    interval: Ends | None = None
    clustered: Annotated[Ends | None, Field(alias="clustered_interval")] = None
    estimate: Annotated[ShareEstimate | None, Field(exclude=True)] = field(
        default=None, compare=False, repr=False
    )

    @property
    def pass_rate(self) -> float | None:
        """The share that passed; None where nothing was scored."""
        return self.passed / self.scored if self.scored else None

    @property
    def widest(self) -> Interval | None:
        """The interval to show: the one that allows for clusters, where there is one."""
        return self.clustered or self.interval

    @model_serializer(mode="wrap")
    def _with_share(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The share comes first: it is what a reader of the file looks for."""
        return {"pass_rate": rounded(self.pass_rate), **fields(self)}


def _without_none(rate: Rate, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
    data: dict[str, Any] = fields(rate)
    if rate.clustered is None:
        del data["clustered_interval"]
    return data


GroupRate = Annotated[Rate, WrapSerializer(_without_none)]
"""The rate of a group within a scenario or across them; in files of earlier versions it isn't clustered."""


@dataclass(frozen=True)
class MetricInfo(Stored):
    """A metric as results name it."""

    id: str
    name: str
    type: MetricType


@dataclass(frozen=True)
class MetricRate(Stored):
    """A metric's rate over all conversations that were scored for it, made for it or not.

    The file has metric and rate in one object.
    """

    metric: MetricInfo
    rate: Rate

    @property
    def id(self) -> str:
        return self.metric.id

    @model_serializer
    def _flat(self) -> dict[str, Any]:
        return {**self.metric.to_json(), **self.rate.to_json()}

    @model_validator(mode="before")
    @classmethod
    def _unflatten(cls, data: Any) -> Any:
        return {"metric": data, "rate": data} if isinstance(data, dict) else data


@dataclass(frozen=True)
class Agreement(Stored):
    """How far the samples of a scenario in one variant come to the same verdict, pass or fail.

    `units` counts those with two verdicts or more. `unanimous` is the share of them where all verdicts are
    the same; `fleiss_kappa` is of those with all samples; `single_with_majority` is how often one sample
    says what most do.
    """

    units: int
    unanimous: Number | None
    fleiss_kappa: Number | None
    krippendorff_alpha: Number | None
    single_with_majority: Number | None


@dataclass(frozen=True)
class DemographicGap(Stored):
    """By how much the pass rate of one group is above that of another, in the same scenarios.

    `gap.pairs` counts scenarios. `adjusted` is the p-value corrected for the gaps of all targets
    (Holm); the gap is `significant` (`stands` in the file) where it is small enough for the confidence of
    these results. The file has all of it in one object, except `estimate`: what a gate computes its own
    interval from.
    """

    attribute: str
    first: str
    second: str
    gap: Gap
    adjusted: float
    significant: bool
    estimate: GapEstimate | None = field(default=None, compare=False, repr=False)

    @model_serializer
    def _flat(self) -> dict[str, Any]:
        return {
            "attribute": self.attribute,
            "first": self.first,
            "second": self.second,
            "difference": rounded(self.gap.difference),
            "interval": ends(self.gap.interval),
            "pairs": self.gap.pairs,
            "p_value": rounded(self.gap.p_value),
            "adjusted_p_value": rounded(self.adjusted),
            "stands": self.significant,
        }

    @model_validator(mode="before")
    @classmethod
    def _unflatten(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        interval = data["interval"] and dict(zip(("low", "high"), data["interval"], strict=True))
        names = {"adjusted": data["adjusted_p_value"], "significant": data["stands"]}
        return {**data, "gap": {**data, "interval": interval}, **names}


@dataclass(frozen=True)
class TargetResults(Stored):
    """One target's rates. Except in `by_metric`, a conversation counts for the metric it was made for.

    `conversations` is how many ran; `unreadable` and `without_score` how many of them gave no verdict;
    `without_conversation` how many should have run and did not. `agreement` is None with a single sample.
    `by_scenario` is by scenario without its variant (`m01_s002`).
    """

    id: str
    conversations: int
    unreadable: int
    without_score: int
    without_conversation: int
    overall: Rate
    positive: Rate
    negative: Rate
    by_metric: tuple[MetricRate, ...] = ()
    by_scenario: Mapping[str, GroupRate] = field(default_factory=dict)
    by_variant: Mapping[str, GroupRate] = field(default_factory=dict)
    by_demographic: Mapping[str, Mapping[str, GroupRate]] = field(default_factory=dict)
    by_sample: Mapping[int, GroupRate] = field(default_factory=dict)
    agreement: Agreement | None = None
    gaps: tuple[DemographicGap, ...] = ()

    def metric(self, metric_id: str) -> Rate:
        """The rate of a metric; one of nothing if no metric has that id."""
        return next((one.rate for one in self.by_metric if one.id == metric_id), Rate())


@dataclass(frozen=True)
class Results(Stored):
    """The whole of `results.json`. `confidence` is that of all intervals; `notes` are for people.

    `unwritten` is not in the file: it says why the file could not be written, and is empty if it was.
    """

    benchmark: str
    description: str = ""
    confidence: float = 0.95
    metrics: tuple[MetricInfo, ...] = ()
    targets: tuple[TargetResults, ...] = ()
    notes: tuple[str, ...] = ()
    unwritten: Annotated[str, Field(exclude=True)] = ""

    def target(self, target_id: str) -> TargetResults | None:
        """The results of a target, None if there are none."""
        return next((target for target in self.targets if target.id == target_id), None)

    @property
    def ranked(self) -> list[TargetResults]:
        """The targets by their pass rate, the best first, those without one last."""
        rated = [(target.overall.pass_rate, target) for target in self.targets]
        return [target for rate, target in sorted(rated, key=lambda one: 1.0 if one[0] is None else -one[0])]

    @classmethod
    def from_json(cls, data: object) -> Results:
        """Raises `ResultsError` where the data has another shape."""
        try:
            return adapter(cls).validate_python(data)
        except (ValidationError, KeyError, TypeError, ValueError) as error:
            reason = _first_problem(error, data) if isinstance(error, ValidationError) else repr(error)
            raise ResultsError(
                f"these are not the results of a benchmark as this version writes them ({reason}); "
                "write them again with `convoprobe bench aggregate`"
            ) from None


def _first_problem(error: ValidationError, data: object) -> str:
    """`targets[0].overall: this key is required, and it is missing`, in the words that all files have."""
    problem = explain(error, Document(data), BaseModel)[0]
    return f"{problem.path}: {problem.message}" if problem.path else problem.message
