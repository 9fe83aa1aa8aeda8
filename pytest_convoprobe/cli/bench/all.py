"""`convoprobe bench all`: all stages, one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...benchmark.stages.registry import stage_names
from .shared.options import BenchOptions, all_metrics_option, stage_options
from .shared.run_stages import run_command

_HELP = f"""
Run {", ".join(stage_names()[:-1])} and {stage_names()[-1]}, one after the other. Each makes what is missing
or has changed. So an interrupted run resumes, and if there is nothing to do, no model is called.

The exit status says whether the results are complete, not how good the targets are. It is 1 if rows could not
be made or an answer of the evaluator could not be read, 3 if no row could be made or the budget is used up.

\b
Example:
    convoprobe bench all honesty --max-cost 5
"""


@click.command(short_help="Run all stages: from the description to the results.", help=_HELP)
@stage_options
@all_metrics_option
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Run every stage of the registry."""
    run_command(ctx, stage_names(), BenchOptions(folder, **given))
