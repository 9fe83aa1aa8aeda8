"""What became of a run, in one line; and how it compares with the run before."""

from __future__ import annotations

from collections import Counter

from ..formatting import counted
from ..result import Outcome
from ..results.compare import Change
from .run_report import RunReport


def title(report: RunReport) -> str:
    """`7 of 8 passed, 1 error`: what has no verdict is no part of the share, and is never left unsaid."""
    passed, judged, errors = report.counts[Outcome.PASSED], report.judged, report.counts[Outcome.ERROR]
    if not report.ran:
        return "Nothing ran"
    if not errors:
        return f"All {judged:,} passed" if passed == judged else f"{passed:,} of {judged:,} passed"
    rate = f"{passed:,} of {judged:,} passed" if judged else "No verdict"
    return f"{rate}, {counted(errors, 'error')}"


def against(report: RunReport) -> str:
    """How the run compares with its baseline, or else with the run before; empty without either."""
    if report.baseline is not None:
        comparison = report.baseline.comparison
        worse = len(comparison.of(Change.NEW_FAILURE, Change.NO_VERDICT, Change.WORSE))
        return _compared(worse, len(comparison.of(Change.FIXED, Change.BETTER)), report.baseline.run)
    scenarios = {result.scenario_id for result in report.results}
    if not any(report.before(scenario) for scenario in scenarios):
        return ""
    newly = Counter(report.newly(scenario) for scenario in scenarios)
    return _compared(newly[False], newly[True], "")


def _compared(worse: int, better: int, run: str) -> str:
    than = f"than in {run}" if run else "than in the run before"
    said = [f"{counted(worse, 'scenario')} worse"] if worse else []
    said += [f"{better:,} better" if worse else f"{counted(better, 'scenario')} better"] if better else []
    return f"{', '.join(said)} {than}" if said else f"no scenario better or worse {than}"
