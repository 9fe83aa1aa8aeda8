"""`convoprobe bench aggregate`: scores become pass rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..project import json_option
from .shared.options import Asked, folder_argument, loading_options
from .shared.stages import run_command


@click.command(short_help="Add up the scores: pass rates, agreement, gaps between groups.")
@folder_argument
@loading_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Read the scores of all targets and add them up into results.json: pass rates of the positive and the
    negative metrics with their intervals, by metric, scenario, variant, demographic value and sample;
    agreement of samples; gaps between groups. No model is called. --target says which targets are shown;
    the file has all.

    The exit status is 1 if the results lack conversations, or if an answer of the evaluator could not be
    read, which counts neither as passed nor as failed.

    \b
    Example:
        convoprobe bench aggregate honesty
    """  # noqa: D301 - click looks for the character itself
    run_command(ctx, ("aggregate",), Asked(folder, **given))
