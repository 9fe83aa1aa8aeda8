"""`convoprobe flaky`: scenarios whose outcome varies although nothing changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..console import Console, write_json
from ..load_rows import all_rows, in_scenario
from ..project import Project, json_option, project_options
from ..stability_tables import as_json as stability_as_json
from ..stability_tables import print_flips, print_stabilities

if TYPE_CHECKING:
    from ...result import ScenarioResult
    from ...results.history import Stability

_EXPLAINED = 10


@click.command(short_help="Find scenarios whose outcome varies although nothing changed.")
@click.option("--scenario", metavar="TEXT", help="Only scenarios with this in their id or name.")
@click.option(
    "--min-runs",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Leave out scenarios with fewer trials since the last change.",
)
@json_option
@project_options
def command(
    scenario: str | None,
    min_runs: int,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Find scenarios whose outcome varies although nothing changed: same scenario, prompts, models, target
    prompt and tools. The most uneven ones come first, with the pass rate and its 95 % interval, the spread
    of the score, and the criteria that flip.

    "On one commit" says whether a single commit has both outcomes. If not, the agent's own code may be the
    reason. Flaky scenarios don't change the exit status.

    \b
    Example:
        convoprobe flaky --min-runs 10
    """  # noqa: D301 - click looks for the character itself
    from ...results.history import flaky

    project = Project.here(config_file, results_dir)
    found = flaky(all_rows(project, in_scenario(scenario)), min_runs)
    if as_json:
        write_json([stability_as_json(one) for one in found])
        return
    console = Console.of()
    if not found:
        console.say(f"no scenario with {min_runs} trials or more has varying outcomes")
        return
    print_stabilities(console, found)
    for one in found[:_EXPLAINED]:
        console.say()
        console.say(console.safe(one.scenario_id), "bold")
        print_flips(console, one, _example(project, one))
        if not one.flips:
            # Errors alone: no criterion was judged in them.
            console.say(f"  {console.safe(one.example.reason)}")


def _example(project: Project, one: Stability) -> ScenarioResult | None:
    """A trial with the words of its criteria, if it can still be read."""
    from ...errors import ResultsError

    try:
        return project.open(one.example.run).trial(one.example).result
    except ResultsError:
        return None
