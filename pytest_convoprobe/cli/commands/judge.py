"""`convoprobe judge`: criteria and checks on conversations that really happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import counted, dollars
from ..cells import COLORS, counts_text
from ..console import Console, write_json
from ..exits import FINDINGS, OK, TROUBLE
from ..project import Project, json_option, judge_option, project_options

if TYPE_CHECKING:
    from ...result import ScenarioResult
    from ..real_conversations import JudgedRun


@click.command(short_help="Judge conversations that really happened, from an export.")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@click.option(
    "--by",
    "criteria",
    metavar="FILE[::NAME]",
    required=True,
    help="The criteria and checks: a scenario file, or one with only name, description and evaluation.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Judge only the first N conversations.")
@click.option(
    "--all-calls",
    is_flag=True,
    help="The export has every call of a tool: where it has none, none was made.",
)
@click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="Spend at most this much.")
@judge_option
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    criteria: str,
    limit: int | None,
    all_calls: bool,
    max_cost: float | None,
    judge_model: str | None,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Judge the conversations of each FILE, which real users had with the agent: OpenAI's messages, exports
    of LangSmith and Langfuse, or stored trials of convoprobe. Nobody talks, and only the judge is asked.

    The run is stored, so that `show`, `report`, `compare` and `trends` work with it. Secrets and personal
    data are masked as in other runs.

    The exit status is 0 if all conversations passed, 1 if one failed, 3 if one has no verdict.

    \b
    Example:
        convoprobe judge export.jsonl --by scenarios/_refund_rules.yaml
    """  # noqa: D301 - click looks for the character itself
    from ..real_conversations import JudgedRun, conversations_of, criteria_of_file

    project = Project.here(config_file, results_dir)
    found, notes = conversations_of(files)
    settings = project.settings({"judge.model": judge_model, "run.max_cost": max_cost})
    run = JudgedRun(project, settings, all_calls=all_calls)
    try:
        results = run.run(criteria_of_file(project, criteria), found[:limit])
    except KeyboardInterrupt:
        if run.id is not None:
            click.echo(f"what was judged until now is stored: convoprobe show {run.id}", err=True)
        raise
    if limit is not None and len(found) > limit:
        notes.append(f"{len(found) - limit} of {len(found)} conversations were left out (--limit)")
    notes += run.notes
    if as_json:
        write_json(_as_json(run, results, notes))
    else:
        _print(Console.of(), run, results, notes)
    ctx.exit(_status(results))


def _status(results: Sequence[ScenarioResult]) -> int:
    outcomes = {result.outcome.value for result in results}
    if "failed" in outcomes:
        return FINDINGS
    return OK if outcomes == {"passed"} else TROUBLE


def _print(console: Console, run: JudgedRun, results: Sequence[ScenarioResult], notes: Sequence[str]) -> None:
    for result in results:
        if not result.passed:
            outcome = result.outcome.value
            console.say(f"{outcome:<7} {console.safe(result.target)}", COLORS[outcome])
            console.say(f"        {console.safe(result.name)}: {console.safe(result.reason)}")
    for name, outcomes in _by_name(results).items():
        console.say(f"{console.safe(name)}: {counts_text(outcomes)}", "bold")
    console.say(f"{counted(len(results), 'verdict')}, {dollars(_cost(results))}")
    for note in notes:
        console.say(console.safe(note), "yellow")
    if run.id is not None:
        console.say(f"stored: convoprobe show {run.id}, convoprobe report {run.id} --html")


def _by_name(results: Sequence[ScenarioResult]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for result in results:
        found.setdefault(result.name, Counter())[result.outcome.value] += 1
    return found


def _cost(results: Sequence[ScenarioResult]) -> float | None:
    """None if a price isn't known: a sum of the others would look like all of it."""
    costs = [result.total.cost for result in results]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _as_json(run: JudgedRun, results: Sequence[ScenarioResult], notes: Sequence[str]) -> dict[str, Any]:
    return {
        "run": run.id,
        "exit_status": _status(results),
        "notes": notes,
        "cost": _cost(results),
        "verdicts": [
            {
                "scenario_id": result.scenario_id,
                "trial": result.trial,
                "conversation": result.target,
                "outcome": result.outcome,
                "blame": result.blame,
                "score": result.score,
                "reason": result.reason,
            }
            for result in results
        ],
    }
