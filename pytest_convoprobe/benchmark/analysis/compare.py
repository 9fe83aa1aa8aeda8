"""Two runs of one benchmark side by side, of which one had another model behind the scenes.

A result is an artefact of that model where targets change places, pass rates shift, or evaluators disagree
about the same transcripts. Targets that rank differently by chance change places by chance, too: all
figures have intervals, with scenarios as the sampling unit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from ...stats import (
    Interval,
    bootstrap,
    clustered,
    clustered_kappa_interval,
    cohen_kappa,
    kendall_tau_b,
    mean_difference,
    newcombe,
    spearman,
    wilson,
)
from ..format.model_swap import SwappedRole
from ..format.models import MetricType
from .comparison_model import (
    TRACKS,
    Correlation,
    EvaluatorAgreement,
    ModelComparison,
    Shift,
    TargetShift,
    Track,
    VerdictFlip,
)
from .results import Rate
from .trials import Trial

# The ends of a 95 % interval vary by some hundredths, less than anybody reads into them.
_RESAMPLES = 1000
# Two targets correlate with 1 or -1, whatever they do.
_FEWEST_TARGETS = 3


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs: the model that is swapped, the types of the metrics, and each target's trials."""

    model: str
    types: Mapping[str, MetricType]
    trials: Mapping[str, Sequence[Trial]] = field(default_factory=dict)


def compare(
    first: ComparedRun, second: ComparedRun, role: SwappedRole, *, notes: Sequence[str] = ()
) -> ModelComparison:
    """The two sides compared, for the targets that both have verdicts of.

    With the same scenarios on both sides (all roles but the generator), only conversations that have a
    verdict on both count, and shifts are paired by scenario. Another generator makes other scenarios, so
    there the sides are independent.
    """
    paired = role != "generator"
    pairs = list(_pairs(first, second) if paired else _unpaired(first, second))
    both = [pair for pair in pairs if not paired or pair.known]
    tracks = {name: _track(name, both, paired) for name in TRACKS}
    return ModelComparison(
        role=role,
        first=first.model,
        second=second.model,
        scenarios=len({pair.cluster for pair in both}),
        cells=sum(pair.known for pair in both),
        left_out=sum(pair.only_one for pair in pairs) if paired else 0,
        tracks=tracks,
        flips=tuple(pair.flip for pair in both if pair.known and pair.before is not pair.after),
        agreement=_agreement(both) if role == "evaluator" else None,
        agreement_by_metric=_agreements(both) if role == "evaluator" else {},
        notes=tuple(notes),
    )


class _Pair(NamedTuple):
    """A conversation's verdicts on both sides, None where there is none.

    `cluster` is what is resampled as a whole: a scenario, of all targets and in all its variants.
    """

    target: str
    cluster: str
    id: str
    sample: int
    metric_id: str
    kind: MetricType
    before: bool | None
    after: bool | None

    @property
    def known(self) -> bool:
        return self.before is not None and self.after is not None

    @property
    def flip(self) -> VerdictFlip:
        return VerdictFlip(
            self.target, self.id, self.sample, self.metric_id, self.before is True, self.after is True
        )

    @property
    def only_one(self) -> bool:
        return (self.before is None) is not (self.after is None)


def _pairs(first: ComparedRun, second: ComparedRun) -> Iterator[_Pair]:
    """Paired by target, scenario in its variant, and sample."""
    for target in sorted(first.trials.keys() & second.trials.keys()):
        before, after = _by_cell(first.trials[target]), _by_cell(second.trials[target])
        for cell in sorted(before.keys() | after.keys()):
            one, other = before.get(cell), after.get(cell)
            shown = (one or other).shown  # type: ignore[union-attr]  # it is in one of them
            kind = first.types.get(shown.metric_id) or second.types[shown.metric_id]
            yield _Pair(
                target,
                shown.base,
                *cell,
                shown.metric_id,
                kind,
                one.passed if one else None,
                other.passed if other else None,
            )


def _by_cell(trials: Iterable[Trial]) -> dict[tuple[str, int], Trial]:
    return {(trial.shown.id, trial.sample): trial for trial in trials}


def _unpaired(first: ComparedRun, second: ComparedRun) -> Iterator[_Pair]:
    """Each side's scenarios are others, even where their ids are the same."""
    targets = first.trials.keys() & second.trials.keys()
    for name, side in (("first", first), ("second", second)):
        for target in sorted(targets):
            for shown, sample, passed, _ in side.trials[target]:
                verdicts = (passed, None) if side is first else (None, passed)
                kind = side.types[shown.metric_id]
                yield _Pair(
                    target, f"{name} {shown.base}", shown.id, sample, shown.metric_id, kind, *verdicts
                )


def _track(name: str, pairs: Sequence[_Pair], paired: bool) -> Track:
    those = [pair for pair in pairs if name == "overall" or pair.kind.value == name]
    by_target: defaultdict[str, list[_Pair]] = defaultdict(list)
    for pair in those:
        by_target[pair.target].append(pair)
    sides = {
        target: (_rate(of_it, "before"), _rate(of_it, "after")) for target, of_it in sorted(by_target.items())
    }
    ranked = {
        target: (one.pass_rate, other.pass_rate)
        for target, (one, other) in sides.items()
        if one.pass_rate is not None and other.pass_rate is not None
    }
    places = [_places({target: rates[side] for target, rates in ranked.items()}) for side in (0, 1)]
    targets = tuple(
        TargetShift(
            target,
            *sides[target],
            places[0].get(target),
            places[1].get(target),
            _shift(by_target[target], *sides[target], paired),
        )
        for target in sides
    )
    return Track(targets, *_correlations(those, tuple(ranked), paired))


def _rate(pairs: Iterable[_Pair], side: str) -> Rate:
    clusters: defaultdict[str, list[bool]] = defaultdict(list)
    for pair in pairs:
        verdict: bool | None = getattr(pair, side)
        if verdict is not None:
            clusters[pair.cluster].append(verdict)
    passed, scored = sum(map(sum, clusters.values())), sum(map(len, clusters.values()))
    return Rate(passed, scored, interval=wilson(passed, scored), clustered=clustered(list(clusters.values())))


def _places(rates: Mapping[str, float]) -> dict[str, int]:
    """1 for the highest rate; equal rates share the better place."""
    return {target: 1 + sum(other > rate for other in rates.values()) for target, rate in rates.items()}


def _shift(pairs: Sequence[_Pair], before: Rate, after: Rate, paired: bool) -> Shift | None:
    """How much higher the second side's rate is; None without verdicts on both."""
    if before.pass_rate is None or after.pass_rate is None:
        return None
    if paired:
        return _paired_shift(pairs)
    difference = after.pass_rate - before.pass_rate
    if before.clustered is None or after.clustered is None:
        return Shift(difference, None)
    interval = newcombe(after.pass_rate, after.clustered, before.pass_rate, before.clustered)
    return Shift(difference, interval)


def _paired_shift(pairs: Iterable[_Pair]) -> Shift:
    """The mean over scenarios of each one's shift, with Student's interval."""
    differences: defaultdict[str, list[int]] = defaultdict(list)
    for pair in pairs:
        differences[pair.cluster].append(bool(pair.after) - bool(pair.before))
    means = [sum(those) / len(those) for those in differences.values()]
    found = mean_difference(means)
    interval = Interval(max(-1.0, found.low), min(1.0, found.high)) if found else None
    return Shift(sum(means) / len(means), interval)


def _correlations(
    pairs: Iterable[_Pair], targets: Sequence[str], paired: bool
) -> tuple[Correlation, Correlation]:
    """Spearman's and Kendall's, of the targets' pass rates on either side.

    The scenarios of sides that aren't paired were drawn apart from one another.
    """
    if reason := _too_few(len(targets)):
        return Correlation(None, None, reason), Correlation(None, None, reason)
    clusters = _counts(pairs, targets)

    def of(correlate: Callable[[Sequence[float], Sequence[float]], float | None]) -> Correlation:
        def statistic(drawn: Sequence[Sequence[int]]) -> float | None:
            rates = _rates_of(drawn)
            return correlate(*rates) if rates else None

        value = statistic(clusters)
        if value is None:
            return Correlation(None, None, "on one side all targets have the same pass rate")
        interval = bootstrap(clusters, statistic, resamples=_RESAMPLES, stratum=None if paired else _is_first)
        return Correlation(value, interval)

    return of(spearman), of(kendall_tau_b)


def _too_few(targets: int) -> str:
    if targets >= _FEWEST_TARGETS:
        return ""
    found = ("no target has", "only one target has", "only two targets have")[targets]
    return f"{found} verdicts on both sides; a correlation of ranks needs three"


def _counts(pairs: Iterable[_Pair], targets: Sequence[str]) -> list[list[int]]:
    """A row for each cluster with verdicts: of every target, passed and scored before, passed and scored
    after.
    """
    column = {target: 4 * number for number, target in enumerate(targets)}
    rows: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (4 * len(targets)))
    for pair in pairs:
        if pair.target in column:
            row, start = rows[pair.cluster], column[pair.target]
            for offset, verdict in ((0, pair.before), (2, pair.after)):
                row[start + offset] += verdict is True
                row[start + offset + 1] += verdict is not None
    return [row for row in rows.values() if any(row)]


def _is_first(row: Sequence[int]) -> bool:
    """Whether a cluster's counts are of the first side's scenarios."""
    # Each cluster is of one side only, and its columns of the other side are zeros.
    return any(row[1::4])


def _rates_of(rows: Sequence[Sequence[int]]) -> tuple[list[float], list[float]] | None:
    """Every target's rate on either side; None where one has no verdicts."""
    totals = list(map(sum, zip(*rows, strict=True)))
    if not all(totals[1::2]):
        return None
    rates = [passed / scored for passed, scored in zip(totals[::2], totals[1::2], strict=True)]
    return rates[::2], rates[1::2]


def _agreements(pairs: Iterable[_Pair]) -> dict[str, EvaluatorAgreement]:
    groups: defaultdict[str, list[_Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.metric_id].append(pair)
    return {metric_id: _agreement(groups[metric_id]) for metric_id in sorted(groups)}


def _agreement(pairs: Iterable[_Pair]) -> EvaluatorAgreement:
    """On whether the behaviour is present: that, and not the pass, is what an evaluator says."""
    clusters: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for pair in pairs:
        # Back from the pass to what was said: of a negative metric, a pass means absent.
        yes = pair.kind.passes(True)
        clusters[pair.cluster].append((yes is pair.before, yes is pair.after))
    said = list(chain.from_iterable(clusters.values()))
    same = sum(one is other for one, other in said)
    return EvaluatorAgreement(
        len(said),
        same / len(said) if said else None,
        cohen_kappa(said),
        clustered_kappa_interval(clusters.values(), resamples=_RESAMPLES),
    )
