"""`convoprobe trends`: the results of scenarios over the stored runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...formatting import UNKNOWN, counted, dollars, moment, number, percent_range, seconds
from ..cells import NO_VERDICT, errors_text, rate_color, rate_text, reruns_text
from ..console import Console, write_json
from ..exits import UsageProblem
from ..load_rows import all_rows, in_scenario
from ..project import Project, json_option, project_options
from ..tables import Cell, Column, Row, print_table

if TYPE_CHECKING:
    from ...results.history import Point, Trend

_COLUMNS = (
    Column("SCENARIO", flexible=True),
    Column("RUNS", right=True, rank=4),
    Column("PASSED", right=True, rank=3),
    Column("RATE", right=True),
    Column("ERRORS", rank=2, sparse=True),
    Column("RERUNS", right=True, rank=2, sparse=True),
    Column("95 %", right=True, rank=5),
    Column("TREND"),
    Column("SCORE", right=True, rank=6),
    Column("LAST CHANGE", flexible=True, rank=7),
)
_POINTS = (
    Column("RUN"),
    Column("STARTED", rank=5),
    Column("PASSED", right=True),
    Column("GATE", rank=1, sparse=True),
    Column("ERRORS", rank=1, sparse=True),
    Column("RERUNS", right=True, rank=1, sparse=True),
    Column("SCORE", right=True),
    Column("TOOK", right=True, rank=2),
    Column("REPLY", right=True, rank=3),
    Column("COST", right=True, rank=4),
    Column("CHANGED", flexible=True, rank=1),
)


@click.command(short_help="Show the results of scenarios over the stored runs.")
@click.option("--scenario", metavar="TEXT", help="Only scenarios with this in their id or name.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Use the latest N runs of each scenario.",
)
@json_option
@project_options
def command(
    scenario: str | None,
    window: int,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Show the results of scenarios over the stored runs: the pass rate with its 95 % interval, and a line
    with one mark for each run. If --scenario selects only one, each of its runs is shown.

    PASSED and RATE are of the trials with a verdict on the agent. Errors are counted beside them, by blame.

    \b
    Example:
        convoprobe trends --scenario refund --window 10
    """  # noqa: D301 - click looks for the character itself
    from ...results.history import trends
    from ...results.tool_schemas import ToolSchemas

    project = Project.here(config_file, results_dir)
    rows = all_rows(project, in_scenario(scenario))
    if scenario and not rows:
        raise UsageProblem(f"no stored scenario has {scenario!r} in its id or name")
    found = trends(rows, window, ToolSchemas(run.path for run in project.runs()).explain)
    if as_json:
        write_json(found)
        return
    console = Console.of()
    print_table(console, _COLUMNS, [_row(trend) for trend in found])
    if scenario and len(found) == 1:
        console.say()
        decided = _decided(project, found[0])
        print_table(console, _POINTS, [_point(point, decided) for point in reversed(found[0].points)])


def _decided(project: Project, trend: Trend) -> dict[str, str]:
    """By run, what its gate decided about the scenario; nothing where each trial counts alone."""
    runs = {ref.id: ref for ref in project.runs()}
    words = {}
    for run in {point.run for point in trend.points} & runs.keys():
        decision = runs[run].open().decisions().get(trend.scenario_id)
        words[run] = decision.word.value if decision else ""
    return words


def _row(trend: Trend) -> Row:
    from ...results.history import sparkline

    scores = [score for score in trend.scores if score is not None]
    return (
        trend.scenario_id,
        str(len(trend.points)),
        f"{trend.passed}/{trend.trials}",
        Cell(rate_text(trend.rate), rate_color(trend.rate)),
        errors_text(trend.errors),
        reruns_text(trend.reruns),
        percent_range(trend.interval),
        sparkline(trend.rates),
        number(scores[-1] if scores else None),
        _last_change(trend),
    )


def _last_change(trend: Trend) -> str:
    """`prompts (3 runs ago)`."""
    for ago, point in enumerate(reversed(trend.points)):
        if point.changed:
            when = "in the latest run" if ago == 0 else f"{counted(ago, 'run')} ago"
            return f"{', '.join(point.changed)} ({when})"
    return ""


def _point(point: Point, decided: Mapping[str, str]) -> Row:
    passed = f"{point.passed}/{point.trials}" if point.trials else NO_VERDICT
    return (
        point.run,
        moment(point.started) or UNKNOWN,
        Cell(passed, rate_color(point.rate)),
        decided.get(point.run, ""),
        errors_text(point.errors),
        reruns_text(point.reruns),
        number(point.score),
        seconds(point.duration),
        seconds(point.latency),
        dollars(point.cost, UNKNOWN),
        ", ".join(point.changed),
    )
