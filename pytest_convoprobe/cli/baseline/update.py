"""`convoprobe baseline update`: stored conversations into the file beside the scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..baseline_changes import finish
from ..console import Console
from ..project import Project, json_option, project_options

if TYPE_CHECKING:
    from ...results.store import StoredRun


@click.command(short_help="Add the conversations of stored runs.")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@json_option
@project_options
def command(
    runs: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Add the conversations of stored runs to `_baseline.json`. Without RUN, these are the runs of the
    present commit and of the commits before it; without git, the newest runs.

    Conversations that are there already are not added twice, and the newest 50 of a scenario are kept. Where
    the scenario, the prompts, the judge or the synthetic user changed, its past begins again. What doesn't
    count is left out and listed: conversations without a verdict or from a recording, runs that did not come
    to their end, and scenarios that got worse, which `convoprobe baseline accept` takes in.

    \b
    Example:
        convoprobe baseline update latest
    """  # noqa: D301 - click looks for the character itself
    from ...results.baseline_update import with_runs
    from ...results.lookup import dirty_runs
    from ...results.provenance import commit_of

    project = Project.here(config_file, results_dir)
    texts = runs or ("HEAD" if commit_of("HEAD", project.root) else "latest",)
    stored = _stored(project, texts)
    dirty = sorted({ref.id for text in texts for ref in dirty_runs(project.results, text)})
    if dirty:
        Console.of().note(f"note: {_changed_runs(dirty)}")
    finish(lambda: with_runs(project.root, stored), project.root, dry_run=dry_run, as_json=as_json)


def _changed_runs(ids: list[str]) -> str:
    """One line for all of them: on the machine of a developer there may be hundreds."""
    if len(ids) == 1:
        return f"run {ids[0]} left out: it had changes that no commit has; name it to add it"
    return (
        f"{len(ids):,} runs left out, the newest is {ids[-1]}: they had changes that no commit has; name one "
        "to add it"
    )


def _stored(project: Project, texts: tuple[str, ...]) -> list[StoredRun]:
    """Each run once, however often it was meant."""
    from ...results.lookup import runs_before

    refs = {ref.path.resolve(): ref for text in texts for ref in runs_before(project.results, text)}
    return [ref.open() for ref in refs.values()]
