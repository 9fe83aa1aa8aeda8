"""`convoprobe bench all`: all stages, one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .shared.options import Asked, all_metrics_option, stage_options
from .shared.stages import STAGES, run_command


@click.command(short_help="Run all stages: from the description to the results.")
@stage_options
@all_metrics_option
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Run gen-metrics, gen-scenarios, simulate, evaluate and aggregate, one after the other. Each makes
    what is missing or has changed: a run that was broken off goes on where it was, and with nothing to do
    nothing is called.

    The exit status says whether the results are whole, not how good the targets are: 1 if rows could not be
    made or an answer of the evaluator could not be read, 3 if no row could be made or the budget is used
    up.

    \b
    Example:
        convoprobe bench all honesty --max-cost 5
    """  # noqa: D301 - click looks for the character itself
    run_command(ctx, STAGES, Asked(folder, **given))
