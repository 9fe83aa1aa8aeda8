"""`convoprobe baseline accept`: a change that is meant."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...text import is_blank, one_line
from ..baseline_changes import finish
from ..exits import UsageProblem
from ..project import Project, json_option, project_options
from ..select_trials import one_scenario

if TYPE_CHECKING:
    from ...results.store import StoredRun


@click.command(short_help="Begin a scenario's past again: its change is meant.")
@click.argument("scenario", required=False)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for the review: such as the ticket.")
@click.option("--all", "everything", is_flag=True, help="All scenarios of RUN, instead of SCENARIO.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@json_option
@project_options
def command(
    scenario: str | None,
    runs: tuple[str, ...],
    reason: str,
    everything: bool,
    dry_run: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Begin the past of SCENARIO again in `_baseline.json`, with its conversations in RUN (by default the
    newest run). The reason and the date are kept in the file, and each gate that uses this past shows them.

    Use it when the agent now behaves differently on purpose. Failed conversations count too: from now on they
    are how the scenario is. If no conversation of it is stored, name the scenario by its whole id; its past
    is empty until the next `convoprobe baseline update`.

    \b
    Example:
        convoprobe baseline accept "Late refund" latest --reason "#123: refunds need a receipt now"
    """  # noqa: D301 - click looks for the character itself
    from ...results.baseline_file import Accepted
    from ...results.baseline_update import accepting

    if is_blank(reason):
        raise UsageProblem("--reason is empty: say why the change is meant, such as the ticket")
    project, now = Project.here(config_file, results_dir), datetime.now(timezone.utc)
    if everything:
        scenario, runs = None, (scenario, *runs) if scenario else runs  # there is no SCENARIO then
    elif scenario is None:
        raise UsageProblem("name the scenario whose change is meant, or add --all")
    stored = _stored(project, runs)
    wanted = _all_of(stored) if scenario is None else [_id_of(project, stored, scenario)]
    accepted = Accepted(now.date().isoformat(), one_line(reason).strip())
    begins = f"{now:%Y%m%dT%H%M%SZ}"
    finish(
        lambda: accepting(project.root, wanted, stored, accepted, begins),
        project.root,
        dry_run=dry_run,
        as_json=as_json,
    )


def _stored(project: Project, named: tuple[str, ...]) -> list[StoredRun]:
    """The runs that somebody named, or else the newest one, if there is one at all.

    Each is one run: older ones, from before the change, are what is to be forgotten.
    """
    if named:
        return [project.open(text) for text in named]
    return [ref.open() for ref in project.runs()[:1]]


def _all_of(stored: list[StoredRun]) -> list[str]:
    """All scenarios in files. Raises `UsageProblem` if there are none."""
    from ...results.trial_filter import has_file

    found = sorted({row.scenario_id for run in stored for row in run.rows() if has_file(row.scenario_id)})
    if not found:
        raise UsageProblem("no scenario is stored: run pytest on some scenarios first")
    return found


def _id_of(project: Project, stored: list[StoredRun], text: str) -> str:
    """The scenario that a text means: one of the runs, or by its whole id one of the files."""
    from ...results.baseline_file import kept_past

    rows = [row for run in stored for row in run.rows()]
    if not any(row.scenario_id == text for row in rows) and kept_past(project.root, text):
        return text
    return one_scenario(rows, text)[0].scenario_id
