"""What came of a run of stages, on stdout: rows made, rows that could not be made, results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...console import Console, write_json
from ...tables import Cell, Column, Row, print_table
from .forecasts import forecast_json, print_forecasts
from .results import costs_of, print_results

if TYPE_CHECKING:
    from ....benchmark.driver import StageReport, TargetReport
    from ....benchmark.loading import LoadedBenchmark
    from ....benchmark.pipeline import PipelineReport
    from ....benchmark.work import Place
    from ....llm.ledger import Spending

_SHOWN_IDS = 3
_LONGEST_REASON = 400

_COLUMNS = (
    Column("STAGE"),
    Column("TARGET", flexible=True),
    Column("DONE BEFORE", right=True),
    Column("MADE NOW", right=True),
    Column("FAILED", right=True),
    Column("UNREADABLE", right=True, rank=1),
    Column("LEFT", right=True, rank=2),
)


def print_report(console: Console, report: PipelineReport, loaded: LoadedBenchmark) -> None:
    """All of it, for people."""
    from ....reports.money import spending_in_words

    if report.forecasts:
        print_forecasts(console, report.forecasts)
    if report.results is not None:
        print_results(console, report.results, costs_of(loaded.folder))
    elif report.stages:
        print_table(console, _COLUMNS, list(_rows(report.stages)))
        console.say(f"now: {spending_in_words(_spent(report.stages))}")
    for stage in report.stages:
        _print_trouble(console, stage)


def report_json(report: PipelineReport, loaded: LoadedBenchmark) -> None:
    """All of it, for programs."""
    write_json(
        {
            "folder": str(loaded.folder.path),
            "stages": [_stage_json(stage) for stage in report.stages],
            "forecasts": [forecast_json(one) for one in report.forecasts],
            "results": report.results.to_json() if report.results else None,
        }
    )


def _rows(stages: Iterable[StageReport]) -> Iterable[Row]:
    for stage in stages:
        for target, one in stage.targets.items():
            failed = Cell(f"{len(one.failed):,}", "red" if one.failed else "")
            unreadable = Cell(f"{one.unreadable:,}", "yellow" if one.unreadable else "")
            yield stage.stage, target, f"{one.before:,}", f"{one.made:,}", failed, unreadable, f"{one.left:,}"


def _spent(stages: Iterable[StageReport]) -> Spending:
    from ....llm.ledger import Spending

    return sum((one for stage in stages for one in stage.spending.values()), Spending())


def _print_trouble(console: Console, stage: StageReport) -> None:
    """What could not be made, and why; nothing if there is nothing of the kind."""
    for target, one in stage.targets.items():
        name = console.safe(f"{stage.stage} {target}".rstrip())
        for reason, places in _by_reason(one.failed).items():
            console.say(f"{name}: {_counted(len(places))} could not be made ({_ids(console, places)}):", "red")
            console.say(f"    {_reason(console, reason)}")
        if one.given_up and one.left:
            console.say(f"{name}: after that, the other {one.left:,} rows were left out", "red")
    if stage.budget:
        left = f"; {_counted(stage.left)} of {stage.stage} are left" if stage.left else ""
        console.say(f"{_reason(console, stage.budget)}{left}", "yellow")
    for note in stage.notes:
        console.say(console.safe(note), "yellow")


def _by_reason(failed: Sequence[tuple[Place, str]]) -> Mapping[str, list[Place]]:
    """The rows that failed for each reason, the most frequent reason first."""
    found: defaultdict[str, list[Place]] = defaultdict(list)
    for place, reason in failed:
        found[reason].append(place)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _ids(console: Console, places: Sequence[Place]) -> str:
    shown = ", ".join(console.safe(place.text) for place in places[:_SHOWN_IDS])
    more = len(places) - _SHOWN_IDS
    return f"{shown} and {more:,} more" if more > 0 else shown


def _reason(console: Console, reason: str) -> str:
    from ....text import shorten

    return console.safe(shorten(reason, _LONGEST_REASON))


def _counted(number: int) -> str:
    return f"{number:,} row" + ("" if number == 1 else "s")


def _stage_json(stage: StageReport) -> dict[str, Any]:
    return {
        "stage": stage.stage,
        "seconds": stage.seconds,
        "budget": stage.budget,
        "notes": stage.notes,
        "spending": {str(getattr(role, "value", role)): _spending(one) for role, one in stage.spending.items()},
        "targets": {target: _target_json(one) for target, one in stage.targets.items()},
    }


def _target_json(one: TargetReport) -> dict[str, Any]:
    return {
        "before": one.before,
        "made": one.made,
        "unreadable": one.unreadable,
        "left": one.left,
        "given_up": one.given_up,
        "failed": [{"row": place.text, "reason": reason} for place, reason in one.failed],
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
