"""`convoprobe check`: whether a stored run is whole, and all of it passed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...formatting import counted, moment
from ..cells import counts_text
from ..console import Console, write_json
from ..exits import FINDINGS, OK, UsageProblem
from ..point_in_time import PointInTime
from ..project import Project, json_option, project_options

if TYPE_CHECKING:
    from ...results.store import StoredRun


@click.command(short_help="Check that a stored run is whole and passed.")
@click.argument("run", default="latest")
@click.option(
    "--min-scenarios",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="The least number of scenarios with a verdict.",
)
@click.option(
    "--commit", metavar="REV", help="The branch, tag or commit that the run must be of, such as HEAD."
)
@click.option(
    "--since",
    type=PointInTime(),
    metavar="TIME",
    help="The run must have begun then or later: seconds since 1970 (`date +%s`), or 2026-11-29T10:15:00Z.",
)
@click.option("--allow-failures", is_flag=True, help="Check only that the run is whole, not that it passed.")
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    min_scenarios: int,
    commit: str | None,
    since: float | None,
    allow_failures: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Check that the stored RUN (the latest by default) is whole and passed. Use it in CI after pytest: an
    agent that ends pytest's process from inside (os._exit) can make pytest's own exit status 0.

    The exit status is 1 if the run is not finished, lacks trials that were selected, has fewer scenarios than
    expected, or has failures or errors. Where the gate decided about a scenario, its decision counts and not
    each conversation.

    \b
    Example:
        convoprobe check latest --commit HEAD --min-scenarios 12
    """  # noqa: D301 - click looks for the character itself
    from ...results.run_check import findings_of

    project = Project.here(config_file, results_dir)
    stored = project.open(run)
    found = findings_of(stored, min_scenarios=min_scenarios, allow_failures=allow_failures)
    if commit is not None:
        found += _of_another_commit(project, stored, commit)
    if since is not None and stored.info.started < since:
        began, least = moment(stored.info.started), moment(since)
        found.append(
            f"the run began at {began}, and {least} or later is wanted: nothing is stored since then"
        )
    if as_json:
        write_json({"run": stored.id, "state": stored.info.state, "ok": not found, "findings": found})
    else:
        _print(stored, found)
    ctx.exit(FINDINGS if found else OK)


def _of_another_commit(project: Project, stored: StoredRun, text: str) -> list[str]:
    """What is wrong if the run is of another commit; then pytest may have ended before it stored anything."""
    from ...results.provenance import commit_of

    wanted = commit_of(text, project.root)
    if wanted is None:
        raise UsageProblem(f"--commit: git knows no commit {text} here")
    if stored.info.commit == wanted:
        return []
    known = f"commit {stored.info.commit[:12]}" if stored.info.commit else "an unknown commit"
    return [f"the run is of {known}, and {text} is {wanted[:12]}: nothing is stored of it"]


def _print(stored: StoredRun, found: list[str]) -> None:
    console = Console.of()
    chosen = stored.info.selection
    if chosen is None:
        console.note(f"note: how many trials {stored.id} selected is not known")
    elif chosen.partial:
        part = f"{chosen.scenarios:,} of {counted(chosen.existing, 'scenario')}"
        console.note(f"note: {stored.id} selected only {part}")
    for note in stored.notes:
        console.note(f"note: {stored.id}: {note}")
    summary = f"{stored.id}: {stored.info.state.value}, {counts_text(stored.counts, none='no trials')}"
    console.say(console.safe(summary), "red" if found else "green")
    for finding in found:
        console.say(f"  {console.safe(finding)}")
