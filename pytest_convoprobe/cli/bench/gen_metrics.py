"""`convoprobe bench gen-metrics`: the description of a benchmark becomes metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .shared.options import Asked, stage_options
from .shared.stages import run_command


@click.command(short_help="Write the metrics that are missing into benchmark.yaml.")
@stage_options
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Let a model write the metrics that benchmark.yaml lacks: generation.num_metrics of config.yaml is how
    many there are to be. Metrics that were written by hand stay as they are; what one of them lacks is
    completed. Comments in the file stay, too.

    The exit status is 1 if some metric could not be made, 3 if none could.

    \b
    Example:
        convoprobe bench gen-metrics honesty
    """  # noqa: D301 - click looks for the character itself
    run_command(ctx, ("gen-metrics",), Asked(folder, **given))
