"""`convoprobe bench gen-scenarios`: metrics become scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .shared.options import Asked, stage_options
from .shared.stages import run_command


@click.command(short_help="Write the scenarios of each metric, in each variant.")
@stage_options
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Let a model write scenarios for each metric, and rewrite each for every combination of the
    demographics of config.yaml, into scenarios.json. Rows of that file that somebody edited or added stay.

    The exit status is 1 if some scenario could not be made, 3 if none could.

    \b
    Example:
        convoprobe bench gen-scenarios honesty --only m01
    """  # noqa: D301 - click looks for the character itself
    run_command(ctx, ("gen-scenarios",), Asked(folder, **given))
