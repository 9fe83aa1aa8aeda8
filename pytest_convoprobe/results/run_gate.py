"""What the gate of a stored run comes to, worked out again from what is stored."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import Blame
from ..gate.suite import SuiteDecision, decide_suite
from ..gate.types import Decision
from ..result import Outcome
from .index import IndexRow
from .reading import StoredRun
from .run_info import RunInfo
from .trial_filter import final, has_file, has_verdict

_ALPHA = 0.05


def suite_of(run: StoredRun) -> SuiteDecision | None:
    """The decision about a run; None if each of its trials counts alone. Raises `ResultsError`."""
    decisions = run.decisions()
    if not decisions:
        return None
    # What a test makes of the errors in its own scenarios is up to the test.
    erred = [
        row.scenario_id
        for row in final(run.rows())
        if row.outcome is Outcome.ERROR and has_file(row.scenario_id)
    ]
    return decide_suite(decisions, _first_failed(run, decisions), alpha_of(run.info), erred)


def alpha_of(info: RunInfo) -> float:
    """The share of runs that the gate may fail on an unchanged agent, as the run was made."""
    value = info.settings.get("gate", {}).get("alpha", _ALPHA)
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1 else _ALPHA


def _first_failed(run: StoredRun, decisions: Mapping[str, Decision]) -> dict[str, bool]:
    """By scenario, whether the first of its conversations with a verdict failed."""
    judged = [row for row in final(run.rows()) if row.scenario_id in decisions and _is_judged(row)]
    # The first one is written last.
    judged.sort(key=lambda row: row.trial, reverse=True)
    return {row.scenario_id: row.outcome is Outcome.FAILED for row in judged}


def _is_judged(row: IndexRow) -> bool:
    return has_verdict(row) and (row.passed or row.blame is not Blame.JUDGE)
