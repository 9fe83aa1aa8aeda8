"""What became of a run, in one line; and how it compares with the run before."""

from __future__ import annotations

from ..formatting import counted
from ..gate.suite import SuiteDecision
from ..result import Outcome
from .comparison import totals
from .run_report import RunReport


def title(report: RunReport) -> str:
    """`7 of 8 passed, 1 error`: what has no verdict is no part of the share, and is never left unsaid."""
    passed, judged, errors = report.counts[Outcome.PASSED], report.judged, report.counts[Outcome.ERROR]
    if not report.ran:
        return "Nothing ran"
    if report.gate:
        return _decided(report, report.gate)
    if not errors:
        return f"All {judged:,} passed" if passed == judged else f"{passed:,} of {judged:,} passed"
    rate = f"{passed:,} of {judged:,} passed" if judged else "No verdict"
    return f"{rate}, {counted(errors, 'error')}"


def _decided(report: RunReport, gate: SuiteDecision) -> str:
    """`Gate green: 33 of 34 conversations passed`: a conversation that failed as before fails nothing."""
    errors = sum(one.outcome is Outcome.ERROR for one in report.wrong)
    said = f"{report.counts[Outcome.PASSED]:,} of {counted(report.judged, 'conversation')} passed"
    return f"Gate {gate.word.value}: {said}" + (f", {counted(errors, 'error')}" if errors else "")


def against(report: RunReport) -> str:
    """How the run compares with its baseline, or else with the run before; empty without either."""
    compared = report.baseline or report.previous
    return "" if compared is None else f"against {base_name(report)}: {totals(compared.comparison)}"


def base_name(report: RunReport) -> str:
    """What the run is compared with, named whole; empty without that."""
    compared = report.baseline or report.previous
    if compared is None:
        return ""
    name = compared.name or compared.run
    return name if report.baseline is not None else f"the run before, {name}"
