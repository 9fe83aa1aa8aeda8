"""The metric that a row is about."""

from __future__ import annotations

from ...errors import ResultsError
from ..models import Benchmark, Metric


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
