"""`convoprobe rerun`: repeat a stored conversation against the current target."""

from __future__ import annotations

from pathlib import Path

import click

from ...errors import NoTarget
from ..console import Console, write_json
from ..event_loop import end_when_stuck
from ..exits import FINDINGS, OK, TROUBLE
from ..no_target import FIXTURE_IS_FOR_PYTEST
from ..progress import progress_line
from ..project import Project, json_option, project_options
from ..select_trials import one_scenario, pick_trial
from ..trial_text import conversation_text

_STATUS = {"passed": OK, "failed": FINDINGS}


@click.command(short_help="Repeat a stored conversation, and continue live from one of its turns.")
@click.argument("run")
@click.argument("scenario")
@click.option(
    "--from-turn",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    help="The first live turn; the user's messages before it are sent again.",
)
@click.option("--trial", type=click.IntRange(min=1), help="The trial to repeat, if there are several.")
@click.option("-v", "--verbose", is_flag=True, help="Shorten nothing.")
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    scenario: str,
    from_turn: int,
    trial: int | None,
    verbose: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Repeat the conversation of SCENARIO in the stored RUN with the current target, and continue live from
    a turn.

    The target's state was not stored. So the user's messages before that turn are sent again word for word,
    the target answers them again, and its tools act again. From that turn on, the user is live. The outcome
    is shown, not stored. The exit status is 0 if it passed, 1 if it failed, 3 without a verdict.

    \b
    Example:
        convoprobe rerun latest "Order status" --from-turn 3
    """  # noqa: D301 - click looks for the character itself
    from ...results.fingerprints import NO_PRINTS
    from ...results.records import to_record
    from ...results.store import TrialRecord, final
    from ...runs.resume import rerun
    from ...runs.session import Session

    project = Project.here(config_file, results_dir)
    stored = project.open(run)
    row = pick_trial(one_scenario(final(stored.rows()), scenario), trial)
    end_when_stuck()
    with Session(project.source(), project.root) as session, progress_line(lambda: "talking …") as line:
        try:
            result = rerun(stored, row, session, from_turn=from_turn, tick=line.tick)
        except NoTarget:
            raise NoTarget(FIXTURE_IS_FOR_PYTEST) from None
    if as_json:
        write_json(to_record(result, NO_PRINTS))
    else:
        console = Console.of()
        console.write(conversation_text(console, TrialRecord(result), verbose).split("\n"))
    ctx.exit(_STATUS.get(result.outcome.value, TROUBLE))
