"""`convoprobe compare`: two stored runs, scenario by scenario, and a gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..console import Console, write_json
from ..exits import FINDINGS, OK, UsageProblem
from ..project import Project, json_option, project_options
from ..suggestions import OneOf

if TYPE_CHECKING:
    from ...results.baselines import Baseline
    from ...results.compare import Comparison, FailOn, ScenarioChange, ScenarioInRun
    from ...results.store import StoredRun

PAGE = "convoprobe-compare.html"
_PIPED_WIDTH = 120


@click.command(short_help="Compare two stored runs, and gate on regressions.")
@click.argument("base")
@click.argument("head", default="latest")
@click.option(
    "--fail-on",
    type=OneOf(["regression", "new-failure", "none"]),
    default="regression",
    show_default=True,
    help="The changes that close the gate (exit status 1).",
)
@click.option("--html", "as_page", is_flag=True, help=f"A page with both conversations ({PAGE} without -o).")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of the page.",
)
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    base: str,
    head: str,
    fail_on: str,
    as_page: bool,
    output: Path | None,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Compare the run HEAD (the latest by default) with the run BASE, scenario by scenario.

    A new failure passed every time in BASE and doesn't in HEAD. A regression is a new failure, or a
    scenario that did not always pass in BASE and passes less often or scores less in HEAD. Both gates also
    close where nobody knows: if HEAD did not come to its end or has no verdict on a scenario, if a scenario
    fails on which BASE has no verdict, or if trials are missing. The exit status is 1 if the gate is closed.

    If BASE is `latest` or a git name, several runs may be meant: then the one that selected most of the
    scenarios is compared, never a part of them without a word.

    --html writes a page that shows, for each scenario that changed, both conversations side by side and the
    first turn that differs. Of several trials it shows the first that came out differently.

    \b
    Examples:
        convoprobe compare origin/main latest --fail-on new-failure
        convoprobe compare latest~1 latest --html -o compare.html
    """  # noqa: D301 - click looks for the character itself
    from ...results.compare import compare_runs
    from ...results.run_info import RunState

    if output and not as_page:
        raise UsageProblem("-o is for the page: add --html")
    project = Project.here(config_file, results_dir)
    after = project.open(head)
    baseline = project.baseline(base, None if base == head else after)
    before = baseline.run
    if before.path.resolve() == after.path.resolve():
        raise UsageProblem(f"{base} and {head} are the same run, {after.id}: there is nothing to compare")
    comparison, gate = compare_runs(before, after), cast("FailOn", fail_on)
    if as_page:
        _write_page(baseline, after, gate, output or Path(PAGE))
    if as_json:
        write_json(_as_json(before, after, comparison, gate))
    else:
        _print(baseline, after, comparison, gate)
    # Without a gate too: nobody knows what a run lacks whose process ended without a word.
    broken_off = after.info.state is RunState.BROKEN_OFF
    ctx.exit(FINDINGS if comparison.fails(gate) or broken_off else OK)


def _write_page(baseline: Baseline, after: StoredRun, gate: FailOn, path: Path) -> None:
    from ...reports.html import write_comparison
    from ...reports.run_pair import read_run_pair

    pair = read_run_pair(baseline.run, after, fail_on=gate, notes=tuple(baseline.notes))
    try:
        write_comparison(pair, path)
    except OSError as error:
        raise click.FileError(str(path), error.strerror or str(error)) from None
    click.echo(f"wrote {path}", err=True)


def _print(baseline: Baseline, after: StoredRun, comparison: Comparison, gate: FailOn) -> None:
    from ...reports.comparison import Names, comparison_text, run_name, run_notes

    console, before = Console.of(), baseline.run
    text = comparison_text(
        comparison,
        Names(run_name(before.info), run_name(after.info)),
        gate,
        width=console.width or _PIPED_WIDTH,
        ascii_only=not console.unicode,
        color=console.color,
    )
    console.write(text.split("\n"))
    for note in (*baseline.notes, *run_notes(comparison, before.info, after.info)):
        console.note(f"note: {note}")
    if after.decisions():
        console.note(
            f"note: this counts each trial; the gate of {after.id} decided by the past of each scenario: "
            f"`convoprobe show {after.id}`"
        )
    for stored in (before, after):
        for note in stored.notes:
            console.note(f"note: {stored.id}: {note}")


def _as_json(before: StoredRun, after: StoredRun, comparison: Comparison, gate: FailOn) -> dict[str, Any]:
    from dataclasses import fields

    from ...reports.comparison import gate_line

    numbers = {part.name: getattr(comparison, part.name) for part in fields(comparison)}
    facts = {"base_facts": numbers.pop("base"), "head_facts": numbers.pop("head")}
    known, ran = comparison.known
    return {
        "base": before.id,
        "head": after.id,
        "fail_on": gate,
        "fails": comparison.fails(gate),
        "gate": gate_line(comparison, gate),
        "known": known,
        "ran": ran,
        **facts,
        **numbers,
        "changes": [_change(change) for change in comparison.changes],
    }


def _change(change: ScenarioChange) -> dict[str, Any]:
    return {
        "scenario_id": change.scenario_id,
        "name": change.name,
        "kind": change.kind,
        "base": _side(change.base),
        "head": _side(change.head),
        "changed": change.changed,
        "flipped": change.flipped,
    }


def _side(side: ScenarioInRun | None) -> dict[str, Any] | None:
    if side is None:
        return None
    names = ("trials", "passed", "undecided", "skipped", "rate", "score", "cost", "latency")
    row = side.example
    return {
        **{name: getattr(side, name) for name in names},
        "example": {"trial": row.trial, "outcome": row.outcome, "blame": row.blame, "reason": row.reason},
    }
