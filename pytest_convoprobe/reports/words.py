"""Times, and what became of a run, in the words of a page."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone

from ..result import Outcome
from ..results.compare import Change
from .money import counted
from .run_report import RunReport


def seconds(value: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`."""
    if value < 9.95:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes:,} min {rest} s"


def percent(share: float) -> str:
    """`75 %`; never rounded up to all of them, nor down to none."""
    rounded = round(share * 100)
    return f"{min(99, max(1, rounded)) if 0 < share < 1 else rounded} %"


def moment(stamp: float) -> str:
    """`27 November 2026, 22:15 UTC`; empty for a time that isn't known."""
    try:
        when = datetime.fromtimestamp(stamp, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{when.day} {when:%B %Y, %H:%M} UTC" if stamp > 0 else ""


def title(report: RunReport) -> str:
    """`7 of 9 passed`."""
    passed, ran = report.counts[Outcome.PASSED], report.ran
    if not ran:
        return "Nothing ran"
    return f"All {ran:,} passed" if passed == ran else f"{passed:,} of {ran:,} passed"


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
