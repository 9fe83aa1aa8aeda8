"""`convoprobe bench calibrate`: does the evaluator agree with people?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import counted, number, number_range, percent, percent_range
from ..console import Console, write_json
from ..exits import FINDINGS, OK, advice
from ..project import json_option
from ..tables import Column, Row, print_table
from .shared.failures import print_failures
from .shared.options import BenchOptions, folder_argument, loading_options, running_options
from .shared.printing import print_in_vain
from .shared.progress_model import ProgressModel
from .shared.run_stages import status_of, watched

if TYPE_CHECKING:
    from ...benchmark.pipeline.pipeline import PipelineReport
    from ...benchmark.studies.measures import Calibration, Disagreement, Measure
    from ...stats import Interval

_SHOWN = 10

_COLUMNS = (
    Column("METRIC", flexible=True),
    Column("LABELS", right=True, rank=1),
    Column("ACCURACY (95 %)", right=True),
    Column("SENSITIVITY (95 %)", right=True, rank=3),
    Column("SPECIFICITY (95 %)", right=True, rank=4),
    Column("KAPPA (95 %)", right=True, rank=2),
    Column("UNREADABLE", right=True, rank=6),
    Column("FAILED", right=True, rank=5),
)


@click.command(short_help="Compare the evaluator with labels by people.")
@folder_argument
@click.argument("labels", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@loading_options
@running_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, folder: Path, labels: Path, **given: Any) -> None:
    """Compare the evaluator with LABELS, a CSV or JSON Lines file of labels by people. Its columns are
    conversation (an id, with #2 for the second sample), metric, present (true or false), and target if
    there are several. Conversations without an answer of the evaluator are evaluated; this changes no
    results.

    The exit status doesn't depend on the number of disagreements. It is 1 if some labels have no answer of
    the evaluator to compare with, 3 if none has.

    \b
    Example:
        convoprobe bench calibrate honesty labels.csv
    """  # noqa: D301 - click looks for the character itself
    from ...benchmark.studies.calibration import calibrate

    asked = BenchOptions(folder, **given)
    loaded, engine, watch = asked.load(), asked.make_engine(), ProgressModel()
    found = watched(calibrate(loaded, labels, engine=engine, progress=watch), watch, engine)
    if asked.as_json:
        write_json(found.to_json())
    else:
        _print(Console.of(), found)
        print_in_vain(Console.of(), _report(found), loaded)
    ctx.exit(_status(found))


def _status(found: Calibration) -> int:
    return status_of(_report(found)) or (FINDINGS if found.overall.unreadable or found.overall.failed else OK)


def _report(found: Calibration) -> PipelineReport:
    from ...benchmark.pipeline.pipeline import PipelineReport

    return PipelineReport((found.report,) if found.report else ())


def _print(console: Console, found: Calibration) -> None:
    console.say(f"evaluator: {console.safe(found.model)}", "bold")
    measures = [*found.by_metric.items(), ("all", found.overall)]  # a metric may be called so, too
    print_table(console, _COLUMNS, [_row(name, one) for name, one in measures])
    console.say("intervals are by scenario: conversations about one resemble each other", "faint")
    console.say()
    console.say(counted(len(found.disagreements), "disagreement"), "bold")
    for one in found.disagreements[:_SHOWN]:
        _print_disagreement(console, one)
    if len(found.disagreements) > _SHOWN:
        console.say(f"  and {len(found.disagreements) - _SHOWN:,} more; --json has them all")
    print_failures(console, "evaluate", "", found.failed)
    if found.report is not None and found.report.budget:
        console.say(console.safe(found.report.budget), "yellow")
    if found.report is not None and (way_out := advice(found.report.remedies)):
        console.say(way_out, "yellow")
    for note in found.notes:
        console.note(f"note: {note}")


def _row(name: str, one: Measure) -> Row:
    rates = one.rates
    return (
        name,
        f"{one.labels:,}",
        _share(rates.accuracy, one.accuracy_interval),
        _share(rates.sensitivity, one.sensitivity_interval),
        _share(rates.specificity, one.specificity_interval),
        number(one.kappa) + (f" ({number_range(one.kappa_interval)})" if one.kappa_interval else ""),
        f"{one.unreadable:,}",
        f"{one.failed:,}",
    )


def _share(share: float | None, interval: Interval | None) -> str:
    return percent(share) + (f" ({percent_range(interval)})" if share is not None and interval else "")


def _print_disagreement(console: Console, one: Disagreement) -> None:
    words = {True: "present", False: "absent"}
    place = f"{one.target} {one.id}#{one.sample} {one.metric_id}"
    console.say(f"  {console.safe(place)}")
    console.say(f"    people:    {words[one.human]}")
    console.say(f"    evaluator: {words[one.evaluator]}: {console.safe(one.justification)}")
    if one.excerpt:
        console.say(f"    assistant: {console.safe(one.excerpt)}", "faint")
