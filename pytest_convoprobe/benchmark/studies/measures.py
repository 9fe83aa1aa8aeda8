"""How right an evaluator is, measured by what people say of the same conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...stats import (
    BinaryRates,
    Interval,
    binary_rates,
    clustered,
    clustered_kappa_interval,
    cohen_kappa,
)
from ..analysis.figures import Stored, ends, rounded
from ..pipeline.driver import StageReport
from ..rows.work import Place


@dataclass(frozen=True)
class Measure:
    """How right an evaluator is, people being always right.

    `rates` counts answers: a true positive is a behaviour that both see. `unreadable` answers and `failed`
    calls count as neither. Intervals are at 95 % and by scenario: conversations about one resemble each
    other. Those of shares are as `stats.clustered` has them, kappa's is a bootstrap of scenarios.
    """

    labels: int
    rates: BinaryRates
    unreadable: int
    failed: int
    kappa: float | None
    accuracy_interval: Interval | None = None
    sensitivity_interval: Interval | None = None
    specificity_interval: Interval | None = None
    kappa_interval: Interval | None = None

    def to_json(self) -> dict[str, Any]:
        rates = self.rates
        return {
            "labels": self.labels,
            "true_positives": rates.tp,
            "false_positives": rates.fp,
            "true_negatives": rates.tn,
            "false_negatives": rates.fn,
            "unreadable": self.unreadable,
            "failed": self.failed,
            "accuracy": rounded(rates.accuracy),
            "accuracy_interval": ends(self.accuracy_interval),
            "sensitivity": rounded(rates.sensitivity),
            "sensitivity_interval": ends(self.sensitivity_interval),
            "specificity": rounded(rates.specificity),
            "specificity_interval": ends(self.specificity_interval),
            "kappa": rounded(self.kappa),
            "kappa_interval": ends(self.kappa_interval),
        }


@dataclass(frozen=True)
class Disagreement(Stored):
    """A conversation in which a person and the evaluator see different things.

    `excerpt` is what the assistant said: in the turn that the justification names, else at the end.
    """

    target: str
    id: str
    sample: int
    metric_id: str
    human: bool
    evaluator: bool
    justification: str
    excerpt: str


@dataclass(frozen=True)
class Calibration:
    """An evaluator's `model` measured, over all labels and by metric.

    `failed` has each label without an answer, with the reason; `notes` are for people.
    """

    model: str
    overall: Measure
    by_metric: Mapping[str, Measure]
    disagreements: tuple[Disagreement, ...] = ()
    failed: tuple[tuple[Place, str], ...] = ()
    notes: tuple[str, ...] = ()
    report: StageReport | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "overall": self.overall.to_json(),
            "by_metric": {metric_id: found.to_json() for metric_id, found in self.by_metric.items()},
            "disagreements": [one.to_json() for one in self.disagreements],
            "failed": [
                {"target": place.target, "conversation": place.text, "reason": reason}
                for place, reason in self.failed
            ],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class LabelledAnswer:
    """What a person and the evaluator say of one behaviour in one conversation.

    `evaluator` is None where there is no answer: it could not be read, or the call `failed`. `scenario` is
    without its variant (`m01_s002`), whatever target, sample and metric the answer is of.
    """

    metric_id: str
    human: bool
    evaluator: bool | None
    failed: bool = False
    scenario: str = ""


_Pairs = list[tuple[bool, bool]]
"""What a person and the evaluator say, of the conversations about one scenario."""


def measure(answers: Sequence[LabelledAnswer]) -> Measure:
    """The evaluator's rates and kappa over the answers that there are."""
    scenarios = _by_scenario(answers)
    pairs = list(chain.from_iterable(scenarios))
    failed = sum(one.failed for one in answers)
    return Measure(
        labels=len(answers),
        rates=binary_rates(pairs),
        unreadable=len(answers) - len(pairs) - failed,
        failed=failed,
        kappa=cohen_kappa(pairs),
        accuracy_interval=clustered([[one is other for one, other in those] for those in scenarios]),
        sensitivity_interval=_share_seen(scenarios, present=True),
        specificity_interval=_share_seen(scenarios, present=False),
        kappa_interval=clustered_kappa_interval(scenarios),
    )


def _by_scenario(answers: Iterable[LabelledAnswer]) -> list[_Pairs]:
    """The answers that there are, in a fixed order: the bootstrap draws by position."""
    found: defaultdict[str, _Pairs] = defaultdict(list)
    for one in answers:
        if one.evaluator is not None:
            found[one.scenario].append((one.human, one.evaluator))
    return sorted(sorted(pairs) for pairs in found.values())


def _share_seen(scenarios: Iterable[_Pairs], *, present: bool) -> Interval | None:
    """Of the conversations in which people say this, the share in which the evaluator does, too."""
    return clustered([[other is present for one, other in those if one is present] for those in scenarios])


def by_metric(answers: Iterable[LabelledAnswer]) -> dict[str, Measure]:
    """The same for each metric, by its id."""
    groups: defaultdict[str, list[LabelledAnswer]] = defaultdict(list)
    for one in answers:
        groups[one.metric_id].append(one)
    return {metric_id: measure(groups[metric_id]) for metric_id in sorted(groups)}
