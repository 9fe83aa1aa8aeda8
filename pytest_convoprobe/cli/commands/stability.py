"""`convoprobe stability`: run one scenario many times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import ResultsError
from ...formatting import counted, percent, percent_range
from ..cells import NO_VERDICT, errors_text, rate_color
from ..console import Console, write_json
from ..exits import FINDINGS, OK, TROUBLE, advice
from ..one_target import target_option
from ..project import Project, json_option, project_options
from ..stability_tables import as_json as stability_as_json
from ..stability_tables import print_flips, spread
from ..suggestions import OneOf

if TYPE_CHECKING:
    from ...results.history import Stability
    from ..live_run import LiveRun

_KS = (1, 2, 3, 5, 10, 20, 50, 100)
_REASONS = 5


@click.command(short_help="Run a scenario many times, and see how stable its outcome is.")
@click.argument("scenario")
@click.option(
    "--trials", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Number of trials."
)
@click.option(
    "--concurrency", type=click.IntRange(min=1), metavar="N", help="Run up to N conversations concurrently."
)
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop at this many US dollars.")
@click.option(
    "--replay",
    type=OneOf(["off", "auto", "only", "record"]),
    default="off",
    show_default=True,
    help="Answer model calls from recordings, which don't vary.",
)
@target_option
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    scenario: str,
    trials: int,
    concurrency: int | None,
    max_cost: float | None,
    replay: str,
    target: str | None,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Run SCENARIO (file.yaml, or file.yaml::name) many times against the target from the settings. Shows
    the pass rate with its 95 % interval, the probability that k trials in a row pass (pass^k), and what
    flips.

    The trials are stored like those of any run. The exit status is 0 if all passed, 1 if one failed, 3 if
    the others have no verdict.

    \b
    Example:
        convoprobe stability scenarios/refund.yaml --trials 20
    """  # noqa: D301 - click looks for the character itself
    from ...results.history import stability
    from ..live_run import LiveRun, find_scenario, with_name_of_target

    project = Project.here(config_file, results_dir)
    loaded, scenario_id = find_scenario(project, scenario)
    overrides = {"run.replay": replay, "run.concurrency": concurrency, "run.max_cost": max_cost}
    settings = project.source(overrides).of(loaded.file)
    loaded, scenario_id = with_name_of_target(loaded, scenario_id, settings, target)
    run = LiveRun(project, settings, loaded, scenario_id)
    run.run(trials)
    found = stability(run.rows)
    if as_json:
        write_json({"run": run.id, **stability_as_json(found, _fitting(found.trials))})
    else:
        _print(run, found, _before(project, scenario_id))
    ctx.exit(_status(found))


def _fitting(trials: int) -> list[int]:
    return sorted({k for k in (*_KS, trials) if 0 < k <= trials})


def _status(found: Stability) -> int:
    if found.passed < found.trials:
        return FINDINGS
    return OK if found.outcomes == {"passed": found.trials} else TROUBLE


def _rate(found: Stability) -> str:
    if not found.trials:
        return NO_VERDICT
    passed = f"{found.passed} of {found.trials} trials passed: {percent(found.rate)}"
    return f"{passed} (95 % interval {percent_range(found.interval)})"


def _before(project: Project, scenario_id: str) -> str:
    """How often it failed before, by the file of the gate; empty without one."""
    from ...results.baseline_file import kept_past

    try:
        kept = kept_past(project.root, scenario_id)
    except ResultsError as error:
        return str(error).splitlines()[0]
    return f"{kept.failed} of {len(kept.talks)} failed, up to {kept.date}" if kept else ""


def _print(run: LiveRun, found: Stability, before: str) -> None:
    from ..live_run import show_command

    console = Console.of()
    console.say(console.safe(found.scenario_id), "bold")
    console.say(f"  {_rate(found)}", rate_color(found.rate))
    if before:
        console.say(f"  base    {console.safe(before)}")
    if found.errors:
        console.say(f"  without a verdict, and not counted: {errors_text(found.errors)}", "yellow")
    if found.trials:
        chances = [f"{k}: {percent(found.pass_hat(k))}" for k in _fitting(found.trials)]
        console.say(f"  pass^k  {', '.join(chances)}")
        console.say(f"  score   {spread(found)}")
    _print_reasons(console, run)
    if found.flips:
        console.say()
        console.say("What flips", "bold")
        print_flips(console, found, next((one for one in run.results if one.criteria), None))
    console.say()
    if run.problem is None:
        console.say(f"stored as {run.id}: {console.safe(show_command(run.id, found.scenario_id))}")
    else:
        console.note(run.problem)


def _print_reasons(console: Console, run: LiveRun) -> None:
    """Why trials didn't pass, the most frequent first."""
    reasons = Counter(
        f"{row.blame.value}: {row.reason}" if row.blame else row.reason for row in run.rows if not row.passed
    )
    for reason, number in reasons.most_common(_REASONS):
        console.say(f"  {counted(number, 'time')}: {console.safe(reason)}")
    if way_out := advice(dict.fromkeys(one for result in run.results for one in result.remedies)):
        console.say(f"  {way_out}")
    if len(reasons) > _REASONS:
        console.say(f"  and {counted(len(reasons) - _REASONS, 'other reason')}")
