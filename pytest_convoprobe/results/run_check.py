"""Whether a stored run is evidence: it is whole, and all that it looked at passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..formatting import counted
from ..gate.suite import SuiteDecision, blocks
from ..gate.types import Word
from ..result import Outcome
from .index import IndexRow
from .reading import StoredRun
from .run_gate import suite_of
from .run_info import ENDED_EARLY
from .trial_filter import count, final, has_file, has_verdict


def findings_of(run: StoredRun, *, min_scenarios: int = 1, allow_failures: bool = False) -> list[str]:
    """What speaks against a run, in sentences; none if it is whole and, unless allowed, nothing failed."""
    rows = final(run.rows())
    found = [*_incomplete(run, rows), *_too_few(rows, min_scenarios)]
    return found if allow_failures else [*found, *_failures(rows, suite_of(run))]


def _incomplete(run: StoredRun, rows: list[IndexRow]) -> Iterator[str]:
    if not run.info.came_to_its_end:
        yield f"the run {ENDED_EARLY[run.info.state]}"
    yield from _fewer_than_selected(run, rows)
    if run.missing:
        yield f"{counted(run.missing, 'trial')} missing from the stored results"


def _fewer_than_selected(run: StoredRun, rows: list[IndexRow]) -> Iterator[str]:
    """What a run was to have and hasn't. Scenarios inside tests were not selected as such."""
    if run.info.selection is None:
        return
    selected, scenarios = run.info.selection.trials, run.info.selection.in_files or 0
    trials = Counter(row.scenario_id for row in rows if has_file(row.scenario_id))
    if len(trials) < scenarios:
        yield f"{counted(scenarios, 'scenario')} selected, and {len(trials):,} stored"
    # The gate adds conversations, and these must not make up for others that are gone.
    decided = run.decisions()
    stored = sum(1 if scenario in decided else count for scenario, count in trials.items())
    if stored < selected:
        yield f"{counted(selected, 'trial')} selected, and {stored:,} stored"


def _too_few(rows: list[IndexRow], least: int) -> Iterator[str]:
    judged = len({row.scenario_id for row in rows if has_verdict(row)})
    if judged < least:
        yield f"{counted(judged, 'scenario')} with a verdict, and at least {least:,} expected"


def _failures(rows: list[IndexRow], gate: SuiteDecision | None) -> Iterator[str]:
    """Where the gate decided about a scenario, that is what became of it, and not each conversation."""
    yield from _by_the_gate(gate) if gate else ()
    decided = {one.scenario_id for one in gate.decisions} if gate else set()
    counts = count(row for row in rows if row.scenario_id not in decided)
    if failed := counts.get(Outcome.FAILED.value):
        yield f"{counted(failed, 'trial')} failed"
    if errors := counts.get(Outcome.ERROR.value):
        yield f"{counted(errors, 'trial')} ended in an error, without a verdict"


def _by_the_gate(gate: SuiteDecision) -> Iterator[str]:
    for one in gate.decisions:
        if one.word is Word.RED and blocks(one):
            yield f"{one.scenario_id}: {one.sentence()}"
    if gate.has_drifted:
        yield "all scenarios together fail more often than before"
    if not gate.count(Word.GREEN):
        yield "the gate decided no scenario green"
