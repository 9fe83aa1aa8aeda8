"""A run as JSON, for programs; `report.schema.json` beside this file is its schema."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from typing import Any

from ..gate.suite import SuiteDecision
from ..llm.ledger import Spending
from ..results.compare import Change
from ..results.plain_json import number
from ..results.records import to_record
from .decisions import drift_in_words, sentence, stops
from .money import by_roles
from .run_report import BaselineComparison, RunReport

VERSION = 1


def json_report(report: RunReport) -> dict[str, Any]:
    """The run as plain data of the published shape."""
    return {
        "version": VERSION,
        "run": report.info.to_json(),
        "notes": list(report.notes),
        "totals": _totals(report),
        "baseline": _baseline(report.baseline) if report.baseline else None,
        **({"gate": _gate(report.gate, report.audit)} if report.gate else {}),
        "trials": [
            {
                **to_record(trial.result, trial.prints, worker=trial.worker),
                "newly": _newly(report, trial.result.scenario_id),
                "changed": list(report.changed(trial.result.scenario_id)),
            }
            for trial in report.trials
        ],
    }


def _gate(gate: SuiteDecision, audit: str) -> dict[str, Any]:
    """Each decision with its sentence; runs in which each trial counts alone have none of this."""
    decisions = [
        {**one.to_json(), "e_value": number(one.e_value), "sentence": sentence(one), "stops": stops(one)}
        for one in gate.decisions
    ]
    found = {"word": gate.word.value, "together": drift_in_words(gate), "decisions": decisions}
    return {**found, "audit": audit} if audit else found


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `json_report`."""
    text = resources.files(__package__).joinpath("report.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _totals(report: RunReport) -> dict[str, Any]:
    blames = Counter(result.blame.value for result in report.results if result.blame)
    return {
        "trials": len(report.trials),
        "outcomes": {outcome.value: count for outcome, count in report.counts.items()},
        "blames": dict(blames),
        "spent": _spent(report, replayed=False),
        "replayed": _spent(report, replayed=True),
        "without_result": {role.value: _spending(spent) for role, spent in report.without_result.items()},
    }


def _spent(report: RunReport, *, replayed: bool) -> dict[str, Any]:
    """By role; what recordings answered is apart, since nothing was spent on it."""
    return {
        role.value: _spending(spent) for role, spent in by_roles(report.spenders, replayed=replayed).items()
    }


def _spending(spent: Spending) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "attempts": spent.attempts,
        "replayed": spent.replayed,
        "prompt_tokens": spent.usage.prompt_tokens,
        "completion_tokens": spent.usage.completion_tokens,
        "cost": number(spent.cost),
    }


def _newly(report: RunReport, scenario_id: str) -> str | None:
    newly = report.newly(scenario_id)
    return None if newly is None else "passing" if newly else "not passing"


def _baseline(baseline: BaselineComparison) -> dict[str, Any]:
    comparison = baseline.comparison
    return {
        "run": baseline.run,
        "changes": [
            {"scenario_id": one.scenario_id, "kind": one.kind.value, "changed": list(one.changed)}
            for one in comparison.changes
            if one.kind is not Change.SAME
        ],
        "changed": dict(comparison.changed),
        "known": comparison.known[0],
        "ran": comparison.known[1],
        "p_value": comparison.p_value,
        "difference": comparison.difference,
    }
