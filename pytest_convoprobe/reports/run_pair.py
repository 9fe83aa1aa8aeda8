"""Two stored runs with the conversations that differ: what a page on both is made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ..results.compare import Change, Comparison, FailOn, ScenarioChange, compare_runs
from ..results.index import IndexRow
from ..results.records import TrialRecord
from ..results.run_info import RunInfo
from ..results.store import StoredRun, final
from .comparison import run_notes

_Rows = Mapping[str, Mapping[int, IndexRow]]
"""By scenario and number of the trial."""


@dataclass(frozen=True)
class ScenarioPair:
    """A scenario that changed, with one trial of each run; None where a run has none of it."""

    change: ScenarioChange
    base: TrialRecord | None
    head: TrialRecord | None


@dataclass(frozen=True)
class RunPair:
    """Two runs. `scenarios` are those that changed, the most serious first; the others are only counted.

    `notes` say what makes the comparison less than whole.
    """

    base: RunInfo
    head: RunInfo
    comparison: Comparison
    scenarios: tuple[ScenarioPair, ...]
    fail_on: FailOn = "regression"
    notes: tuple[str, ...] = ()


def read_run_pair(
    base: StoredRun, head: StoredRun, *, fail_on: FailOn = "regression", notes: tuple[str, ...] = ()
) -> RunPair:
    """Compare two stored runs; `notes` are about their choice. Raises `ResultsError` if a trial is gone."""
    comparison = compare_runs(base, head)
    before, after = _rows(base), _rows(head)
    pairs = [
        _pair(change, base, head, before.get(change.scenario_id, {}), after.get(change.scenario_id, {}))
        for change in comparison.changes
        if change.kind is not Change.SAME
    ]
    said = (*notes, *run_notes(comparison, base.info, head.info), *base.notes, *head.notes)
    return RunPair(base.info, head.info, comparison, tuple(pairs), fail_on, tuple(dict.fromkeys(said)))


def _rows(run: StoredRun) -> _Rows:
    found: defaultdict[str, dict[int, IndexRow]] = defaultdict(dict)
    for row in final(run.rows()):
        found[row.scenario_id][row.trial] = row
    return found


def _pair(
    change: ScenarioChange,
    base: StoredRun,
    head: StoredRun,
    before: Mapping[int, IndexRow],
    after: Mapping[int, IndexRow],
) -> ScenarioPair:
    old, new = _chosen(change, before, after)
    return ScenarioPair(
        change, None if old is None else base.trial(old), None if new is None else head.trial(new)
    )


def _chosen(
    change: ScenarioChange, before: Mapping[int, IndexRow], after: Mapping[int, IndexRow]
) -> tuple[IndexRow | None, IndexRow | None]:
    """The first trials of one number that came out differently, or else the ones that a report would name."""
    for number in sorted(before.keys() & after.keys()):
        if before[number].outcome is not after[number].outcome:
            return before[number], after[number]
    new = change.head.example if change.head else None
    old = change.base.example if change.base else None
    return (before.get(new.trial, old) if new and old else old), new
