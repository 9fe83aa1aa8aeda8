"""What came of a run of stages, on stdout: rows made, rows that could not be made, results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ....files import shown_path
from ....formatting import counted
from ...console import Console
from ...exits import advice
from ...tables import Cell, Column, Row, print_table
from .failures import failures_json, print_failures, reason_text
from .forecasts import forecast_json, print_forecasts, total_json
from .results import costs_of, print_results

if TYPE_CHECKING:
    from ....benchmark.analysis.results import Results
    from ....benchmark.format.folder import BenchmarkFolder
    from ....benchmark.format.project import LoadedBenchmark
    from ....benchmark.pipeline.driver import StageReport, TargetReport
    from ....benchmark.pipeline.pipeline import PipelineReport
    from ....benchmark.studies.all_gates import GateOfTarget
    from ....llm.ledger import Spending

_COLUMNS = (
    Column("STAGE"),
    Column("TARGET", flexible=True),
    Column("DONE BEFORE", right=True),
    Column("MADE NOW", right=True),
    Column("FAILED", right=True),
    Column("UNREADABLE", right=True, rank=1),
    Column("LEFT", right=True, rank=2),
)
_COLORS = {"green": "green", "red": "red", "undecided": "yellow"}


def print_report(
    console: Console, report: PipelineReport, loaded: LoadedBenchmark, *, results: bool = True
) -> None:
    """All of it, for people; without `results` only what could not be made.

    What could not be made comes last. Without a single result it comes first: it is the reason.
    """
    from ....benchmark.analysis.unscored import next_step

    found = report.results if results else None
    # A table of dashes first would hide why there are only dashes.
    fruitless = found is not None and not any(one.overall.scored for one in found.targets)
    if fruitless:
        _print_troubles(console, report, loaded)
    if report.forecasts:
        print_forecasts(console, report.forecasts)
    elif found is not None:
        whole = loaded.folder.scenarios.exists()
        print_results(console, found, costs_of(loaded.folder), scenarios_known=whole)
        _print_gates(console, loaded, found)
    elif results:
        _print_stages(console, report.stages)
    for target, ages in report.conversations.items():
        if words := ages.words():
            console.note(f"note: {console.safe(target)}: {words}")
    if report.results and report.results.unwritten:
        console.say(console.safe(report.results.unwritten), "red")
    if not fruitless:
        _print_troubles(console, report, loaded)
    elif found and not report.stages:
        console.note(f"note: {next_step(found.targets, shown_path(loaded.folder.path))}")


def _print_gates(console: Console, loaded: LoadedBenchmark, results: Results) -> None:
    """What pytest would say of these figures; nothing where the benchmark has no gate."""
    from ....benchmark.studies.all_gates import gates_of

    gates = list(gates_of(loaded, results))
    if not gates:
        return
    console.say()
    console.say("gates, for these figures (`pytest` fails where one is red):", "bold")
    for gate in gates:
        state = gate.verdict.state.value
        # The word comes first in a headline, where there is one.
        text = f"{gate.name}: {'' if state in _COLORS else 'not known: '}{gate.verdict.brief}"
        console.say(f"  {console.safe(text)}", _COLORS.get(state, ""))


def report_json(
    report: PipelineReport, folder: BenchmarkFolder, gates: Iterable[GateOfTarget] = ()
) -> dict[str, Any]:
    """All of it, for programs."""
    return {
        "folder": str(folder.path),
        "stages": [_stage_json(stage) for stage in report.stages],
        "forecasts": [forecast_json(one) for one in report.forecasts],
        "forecast_total": total_json(report.forecasts),
        "results": report.results.to_json() if report.results else None,
        "old_conversations": {target: ages.words() for target, ages in report.conversations.items()},
        "results_unwritten": report.results.unwritten if report.results else "",
        "gates": [gate.to_json() for gate in gates],
    }


def _rows(stages: Iterable[StageReport]) -> Iterable[Row]:
    for stage in stages:
        for target, one in stage.targets.items():
            failed = Cell(f"{len(one.failed):,}", "red" if one.failed else "")
            unreadable = Cell(f"{one.unreadable:,}", "yellow" if one.unreadable else "")
            yield stage.stage, target, f"{one.before:,}", f"{one.made:,}", failed, unreadable, f"{one.left:,}"


def _print_stages(console: Console, stages: Sequence[StageReport]) -> None:
    """What was made, and what it cost."""
    from ....llm.ledger import Spending
    from ....reports.money import spending_in_words

    rows = list(_rows(stages))
    if not rows:
        console.say("nothing to do")
        return
    print_table(console, _COLUMNS, rows)
    total = sum((one for stage in stages for one in stage.spending.values()), Spending())
    if total.calls:
        console.say(f"now: {spending_in_words(total)}")


def _print_troubles(console: Console, report: PipelineReport, loaded: LoadedBenchmark) -> None:
    for stage in report.stages:
        _print_trouble(console, stage)
    print_in_vain(console, report, loaded)


def print_in_vain(console: Console, report: PipelineReport, loaded: LoadedBenchmark) -> None:
    """That money was spent for nothing, and would be the next time; nothing if it wasn't."""
    from ....reports.money import spending_in_words

    if report.in_vain is None:
        return
    at_once = loaded.config.run.concurrency
    lower = f"lower run.concurrency (--concurrency, {at_once} now), or " if at_once > 1 else ""
    console.say(
        f"not one row was finished, and what this run spent is lost: {spending_in_words(report.in_vain)}. "
        f"The same would happen again: {lower}raise the limit",
        "red",
    )


def _print_trouble(console: Console, stage: StageReport) -> None:
    """What could not be made, and why; nothing if there is nothing of the kind."""
    for target, one in stage.targets.items():
        print_failures(console, stage.stage, target, one.failed)
        if one.given_up and one.left:
            name = console.safe(f"{stage.stage} {target}".rstrip())
            console.say(f"{name}: after that, the other {counted(one.left, 'row')} were left out", "red")
    if stage.budget:
        left = f"; {counted(stage.left, 'row')} of {stage.stage} left" if stage.left else ""
        console.say(f"{reason_text(console, stage.budget)}{left}", "yellow")
    if way_out := advice(stage.remedies):
        console.say(f"{stage.stage}: {way_out}", "yellow")
    for note in (*stage.notes, *stage.remarks):
        console.say(f"{stage.stage}: {reason_text(console, note)}", "yellow")


def _stage_json(stage: StageReport) -> dict[str, Any]:
    return {
        "stage": stage.stage,
        "seconds": stage.seconds,
        "budget": stage.budget,
        "notes": stage.notes,
        "remarks": stage.remarks,
        "spending": {
            str(getattr(role, "value", role)): _spending(one) for role, one in stage.spending.items()
        },
        "targets": {target: _target_json(one) for target, one in stage.targets.items()},
    }


def _target_json(one: TargetReport) -> dict[str, Any]:
    return {
        "before": one.before,
        "made": one.made,
        "unreadable": one.unreadable,
        "left": one.left,
        "given_up": one.given_up,
        "failed": failures_json(one.failed),
    }


def _spending(one: Spending) -> dict[str, Any]:
    return {
        "calls": one.calls,
        "attempts": one.attempts,
        "replayed": one.replayed,
        "prompt_tokens": one.usage.prompt_tokens,
        "completion_tokens": one.usage.completion_tokens,
        "cost": one.cost,
    }
