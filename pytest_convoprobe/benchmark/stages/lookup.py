"""What a stage finds in the tables before it: which rows there are, and the metric that each is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...errors import ResultsError
from ...files import shown_path
from ..format.folder import BenchmarkFolder
from ..format.models import Benchmark, Metric
from ..rows.scenario_ids import parts_of
from ..rows.work import Place, Row


def nothing_yet(what: str, stage: str, folder: BenchmarkFolder) -> ResultsError:
    """What to raise where a stage has nothing to begin with; `stage` is the one that makes it."""
    return ResultsError(f"{what}: `convoprobe bench {stage} {shown_path(folder.path)}` makes them")


class HasDigest(Protocol):
    """What is known of a row without reading it: the digest of its content."""

    @property
    def digest(self) -> str: ...


class EarlierTable(Protocol):
    """A table as the next stage needs it."""

    def heads(self) -> Mapping[Place, HasDigest]: ...

    def row(self, place: Place, /) -> Row: ...


def own_metric(benchmark: Benchmark, rows: EarlierTable, place: Place) -> str:
    """The id of the metric that a scenario was made for: by its id, otherwise by its row."""
    by_id = parts_of(place.id).metric
    if benchmark.metric(by_id) is not None:
        return by_id
    return str(rows.row(place).get("metric_id") or by_id)


def metric_of(benchmark: Benchmark, row_id: str, metric_id: str) -> Metric:
    """The metric. Raises `ResultsError` if `benchmark.yaml` doesn't have it, or doesn't define it."""
    metric = benchmark.metric(metric_id)
    if metric is None:
        known = ", ".join(metric.id for metric in benchmark.metrics) or "none"
        raise ResultsError(
            f"{row_id} belongs to the metric {metric_id!r}, which benchmark.yaml doesn't have "
            f"(it has: {known})"
        )
    if not metric.definition.strip():
        raise ResultsError(
            f"{row_id} belongs to the metric {metric_id!r}, which benchmark.yaml doesn't define: write its "
            "`definition`, or run `convoprobe bench gen-metrics`"
        )
    return metric
