"""All gates of one benchmark, for results as they are: the same words in a test and in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..analysis.results import Results, TargetResults
from ..format.models import Gate, Metric
from ..format.project import LoadedBenchmark
from ..rows.score_file import read_scores
from .gating import GateVerdict, MissingRows, judge_gaps, judge_metric


@dataclass(frozen=True)
class GateOfTarget:
    """A gate's verdict on a target: of one metric, or of the gaps between groups where `metric` is empty."""

    target: str
    metric: str
    verdict: GateVerdict

    @property
    def name(self) -> str:
        return f"{self.target}, {self.metric or 'gaps between groups'}"

    def to_json(self) -> dict[str, Any]:
        words = {"metric": self.metric or None, "headline": self.verdict.headline}
        return {"target": self.target, **words, **self.verdict.figures}


def judge(
    loaded: LoadedBenchmark,
    metric: Metric | None,
    target: TargetResults,
    results: Results,
    trouble: MissingRows | None = None,
) -> GateVerdict:
    """The verdict of one gate on a target; without a metric it is that of the gaps.

    `trouble` is why rows are missing, where a run has just tried to make them.
    """
    gate, missing = loaded.benchmark.gate or Gate(), trouble or MissingRows()
    # All that the table of results shows, whether or not it is selected: a gate's word must not change
    # with what else is run.
    targets = len({entry.id for entry in loaded.config.targets} | {one.id for one in results.targets})
    if metric is None:
        return judge_gaps(gate, target, results.confidence, missing, targets)
    unread: list[str] = []
    return judge_metric(
        gate,
        metric,
        target,
        results.confidence,
        missing,
        lambda: read_scores(loaded.folder, target.id, unread),
        comparisons=targets * len(loaded.benchmark.metrics),
    )


def gates_of(loaded: LoadedBenchmark, results: Results) -> Iterator[GateOfTarget]:
    """The gates that benchmark.yaml asks for, by target: each metric, then the gaps. None without `gate`.

    Nothing is run for them, so one whose rows are missing has no word.
    """
    gate = loaded.benchmark.gate
    if gate is None:
        return
    for target in results.targets:
        for metric in loaded.benchmark.metrics:
            yield GateOfTarget(target.id, metric.id, judge(loaded, metric, target, results))
        if gate.max_group_gap is not None:
            yield GateOfTarget(target.id, "", judge(loaded, None, target, results))
