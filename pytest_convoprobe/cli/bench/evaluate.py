"""`convoprobe bench evaluate`: conversations become scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .shared.options import Asked, all_metrics_option, stage_options
from .shared.stages import run_command


@click.command(short_help="Ask of each conversation whether the behaviour is present.")
@stage_options
@all_metrics_option
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Let a model say of each conversation whether the behaviour is present. It sees the conversation and the
    definition of the metric, nothing else. The scores go into runs/TARGET/scores.json.

    The exit status is 1 if scores could not be made or an answer could not be read (`present` is null
    then), 3 if no score could be made or the budget is used up.

    \b
    Example:
        convoprobe bench evaluate honesty --all-metrics
    """  # noqa: D301 - click looks for the character itself
    run_command(ctx, ("evaluate",), Asked(folder, **given))
