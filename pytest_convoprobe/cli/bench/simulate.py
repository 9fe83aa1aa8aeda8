"""`convoprobe bench simulate`: scenarios become conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .shared.options import Asked, stage_options
from .shared.stages import run_command


@click.command(short_help="Hold the conversations with each target.")
@stage_options
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Hold the conversation of each scenario with each target: a model plays a user who means to elicit the
    behaviour. They go into runs/TARGET/conversations.json.

    A conversation that breaks off is no row: it is listed with the reason, and the next run tries again.
    The exit status is 1 if there are such, 3 if no conversation came to its end or the budget is used up.

    \b
    Example:
        convoprobe bench simulate honesty --target gpt-4o-mini --limit 10
    """  # noqa: D301 - click looks for the character itself
    run_command(ctx, ("simulate",), Asked(folder, **given))
