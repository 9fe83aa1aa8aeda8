"""A benchmark's results as a list with one object for each target, which is how other systems have them."""

from __future__ import annotations

from typing import Any

from ..analysis.results import Rate, Results, TargetResults


def as_list(results: Results) -> list[dict[str, Any]]:
    """The targets in the order of the results.

    Each has `model` (the target's id), the `benchmark`, the three pass rates as plain numbers (null where
    nothing was scored), the `metrics` with their rates, and then all that `results.json` has of it.
    """
    return [_target(results, target) for target in results.targets]


def _target(results: Results, target: TargetResults) -> dict[str, Any]:
    data = target.to_json()
    return {
        "model": target.id,
        "benchmark": results.benchmark,
        "pass_rate": _share(target.overall),
        "positive_pass_rate": _share(target.positive),
        "negative_pass_rate": _share(target.negative),
        "metrics": data.pop("by_metric"),
        **data,
    }


def _share(rate: Rate) -> Any:
    return rate.to_json()["pass_rate"]
