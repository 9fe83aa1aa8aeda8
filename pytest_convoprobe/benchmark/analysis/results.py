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

`clustered_interval` is only there where trials are grouped by scenario: overall, in the tracks, by metric.
What cannot be told is null, never 0. Numbers are rounded to six digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ResultsError
from ...stats import Gap, Interval
from ..format.models import MetricType

_DIGITS = 6
_WIDE = 220


@dataclass(frozen=True)
class Rate:
    """How many conversations passed, of those that a readable answer says it of (`scored`).

    `unreadable` ones were evaluated, but the answer could not be read; `missing` ones should be there and
    have no score: they weren't held, or weren't evaluated. `interval` is Wilson's. `clustered` takes into
    account that conversations about one scenario resemble each other; None where it was not asked for,
    too.
    """

    passed: int = 0
    scored: int = 0
    unreadable: int = 0
    missing: int = 0
    interval: Interval | None = None
    clustered: Interval | None = None

    @property
    def pass_rate(self) -> float | None:
        """The share that passed; None where nothing was scored."""
        return self.passed / self.scored if self.scored else None

    def to_json(self, *, clustered: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = {
            "pass_rate": rounded(self.pass_rate),
            "passed": self.passed,
            "scored": self.scored,
            "unreadable": self.unreadable,
            "missing": self.missing,
            "interval": ends(self.interval),
        }
        return {**data, "clustered_interval": ends(self.clustered)} if clustered else data

    @classmethod
    def from_json(cls, data: Any) -> Rate:
        return cls(
            passed=data["passed"],
            scored=data["scored"],
            unreadable=data["unreadable"],
            missing=data["missing"],
            interval=_interval(data["interval"]),
            clustered=_interval(data.get("clustered_interval")),
        )


@dataclass(frozen=True)
class MetricInfo:
    """A metric as results name it."""

    id: str
    name: str
    type: MetricType

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "type": self.type.value}

    @classmethod
    def from_json(cls, data: Any) -> MetricInfo:
        return cls(data["id"], data["name"], MetricType(data["type"]))


@dataclass(frozen=True)
class MetricRate:
    """A metric's rate over all conversations that were scored for it, made for it or not."""

    metric: MetricInfo
    rate: Rate

    @property
    def id(self) -> str:
        return self.metric.id

    def to_json(self) -> dict[str, Any]:
        return {**self.metric.to_json(), **self.rate.to_json(clustered=True)}

    @classmethod
    def from_json(cls, data: Any) -> MetricRate:
        return cls(MetricInfo.from_json(data), Rate.from_json(data))


@dataclass(frozen=True)
class Agreement:
    """How far the samples of a scenario in one variant come to the same verdict, pass or fail.

    `units` is how many of them have two verdicts or more. `unanimous` is the share of them where all are the
    same; `fleiss_kappa` is of those with all samples; `single_with_majority` is how often one sample
    says what most do.
    """

    units: int
    unanimous: float | None
    fleiss_kappa: float | None
    krippendorff_alpha: float | None
    single_with_majority: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "unanimous": rounded(self.unanimous),
            "fleiss_kappa": rounded(self.fleiss_kappa),
            "krippendorff_alpha": rounded(self.krippendorff_alpha),
            "single_with_majority": rounded(self.single_with_majority),
        }

    @classmethod
    def from_json(cls, data: Any) -> Agreement:
        return cls(
            data["units"],
            data["unanimous"],
            data["fleiss_kappa"],
            data["krippendorff_alpha"],
            data["single_with_majority"],
        )


@dataclass(frozen=True)
class DemographicGap:
    """By how much the pass rate of one group is above that of another, in the same scenarios.

    `gap.pairs` counts scenarios. `adjusted` is the p-value corrected for all gaps of the target (Holm);
    the gap `stands` where it is small enough for the confidence of these results.
    """

    attribute: str
    first: str
    second: str
    gap: Gap
    adjusted: float
    stands: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "attribute": self.attribute,
            "first": self.first,
            "second": self.second,
            "difference": rounded(self.gap.difference),
            "interval": ends(self.gap.interval),
            "pairs": self.gap.pairs,
            "p_value": rounded(self.gap.p_value),
            "adjusted_p_value": rounded(self.adjusted),
            "stands": self.stands,
        }

    @classmethod
    def from_json(cls, data: Any) -> DemographicGap:
        gap = Gap(data["difference"], _interval(data["interval"]), data["p_value"], data["pairs"])
        words = data["attribute"], data["first"], data["second"]
        return cls(*words, gap, data["adjusted_p_value"], data["stands"])


@dataclass(frozen=True)
class TargetResults:
    """One target's rates. Of all but `by_metric`, a conversation counts for the metric it was made for.

    `conversations` is how many were held; `unreadable` and `without_score` how many of them gave no
    verdict; `without_conversation` how many should have been held and were not. `agreement` is None with
    a single sample. `by_scenario` is by scenario without its variant (`m01_s002`).
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
    by_scenario: Mapping[str, Rate] = field(default_factory=dict)
    by_variant: Mapping[str, Rate] = field(default_factory=dict)
    by_demographic: Mapping[str, Mapping[str, Rate]] = field(default_factory=dict)
    by_sample: Mapping[int, Rate] = field(default_factory=dict)
    agreement: Agreement | None = None
    gaps: tuple[DemographicGap, ...] = ()

    def metric(self, metric_id: str) -> Rate:
        """The rate of a metric; one of nothing if there is none of that id."""
        return next((one.rate for one in self.by_metric if one.id == metric_id), Rate())

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "conversations": self.conversations,
            "unreadable": self.unreadable,
            "without_score": self.without_score,
            "without_conversation": self.without_conversation,
            "overall": self.overall.to_json(clustered=True),
            "positive": self.positive.to_json(clustered=True),
            "negative": self.negative.to_json(clustered=True),
            "by_metric": [one.to_json() for one in self.by_metric],
            "by_scenario": _rates(self.by_scenario),
            "by_variant": _rates(self.by_variant),
            "by_demographic": {name: _rates(values) for name, values in self.by_demographic.items()},
            "by_sample": _rates(self.by_sample),
            "agreement": self.agreement.to_json() if self.agreement else None,
            "gaps": [gap.to_json() for gap in self.gaps],
        }

    @classmethod
    def from_json(cls, data: Any) -> TargetResults:
        return cls(
            id=data["id"],
            conversations=data["conversations"],
            unreadable=data["unreadable"],
            without_score=data["without_score"],
            without_conversation=data["without_conversation"],
            overall=Rate.from_json(data["overall"]),
            positive=Rate.from_json(data["positive"]),
            negative=Rate.from_json(data["negative"]),
            by_metric=tuple(map(MetricRate.from_json, data["by_metric"])),
            by_scenario=_read_rates(data["by_scenario"]),
            by_variant=_read_rates(data["by_variant"]),
            by_demographic={name: _read_rates(values) for name, values in data["by_demographic"].items()},
            by_sample={int(sample): rate for sample, rate in _read_rates(data["by_sample"]).items()},
            agreement=Agreement.from_json(data["agreement"]) if data["agreement"] else None,
            gaps=tuple(map(DemographicGap.from_json, data["gaps"])),
        )


@dataclass(frozen=True)
class Results:
    """The whole of `results.json`. `confidence` is that of all intervals; `notes` are for people.

    `unwritten` is not in the file: it says why that could not be written, and is empty if it was.
    """

    benchmark: str
    description: str = ""
    confidence: float = 0.95
    metrics: tuple[MetricInfo, ...] = ()
    targets: tuple[TargetResults, ...] = ()
    notes: tuple[str, ...] = ()
    unwritten: str = ""

    def target(self, target_id: str) -> TargetResults | None:
        """The results of a target, None if there are none."""
        return next((target for target in self.targets if target.id == target_id), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "description": self.description,
            "confidence": self.confidence,
            "metrics": [metric.to_json() for metric in self.metrics],
            "targets": [target.to_json() for target in self.targets],
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, data: Any) -> Results:
        """Raises `ResultsError` where the data is of another shape."""
        try:
            return cls(
                benchmark=data["benchmark"],
                description=data["description"],
                confidence=data["confidence"],
                metrics=tuple(map(MetricInfo.from_json, data["metrics"])),
                targets=tuple(map(TargetResults.from_json, data["targets"])),
                notes=tuple(data["notes"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ResultsError(
                f"these are not the results of a benchmark as this version writes them ({error!r}); "
                "make them anew with `convoprobe bench aggregate`"
            ) from None


def as_text(data: Any) -> str:
    """Plain data as JSON to be read: what fits on a line is on one line.

    Halves of characters, which UTF-8 doesn't know, are escaped.
    """
    return (_lines(data) + "\n").encode("utf-8", "backslashreplace").decode("utf-8")


def rounded(value: float | None) -> float | None:
    """A number as results tell it."""
    return None if value is None else round(value, _DIGITS)


def ends(interval: Interval | None) -> list[float | None] | None:
    """An interval as results tell it: its low and its high end."""
    return None if interval is None else [rounded(interval.low), rounded(interval.high)]


def _interval(data: Any) -> Interval | None:
    return None if data is None else Interval(*data)


def _rates(rates: Mapping[Any, Rate]) -> dict[str, Any]:
    return {str(name): rate.to_json() for name, rate in rates.items()}


def _read_rates(data: Any) -> dict[str, Rate]:
    return {name: Rate.from_json(rate) for name, rate in data.items()}


def _lines(data: Any, indent: str = "") -> str:
    line = json.dumps(data, ensure_ascii=False)
    if not data or not isinstance(data, (dict, list)) or len(indent) + len(line) <= _WIDE:
        return line
    deeper = indent + "  "
    named = isinstance(data, dict)
    inner = [
        f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_lines(data[key], deeper)}"
        if named
        else deeper + _lines(key, deeper)
        for key in data
    ]
    return ("{" if named else "[") + "\n" + ",\n".join(inner) + f"\n{indent}" + ("}" if named else "]")
