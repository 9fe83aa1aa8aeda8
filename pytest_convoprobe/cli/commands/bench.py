"""`convoprobe bench`: the group of the commands for benchmarks."""

from __future__ import annotations

import click

from ...benchmark.stages.registry import stage_names
from .. import bench
from ..bench.shared.group import BenchGroup

_HELP = f"""
Benchmarks: which behaviours an assistant shows when realistic users try to elicit them.

A benchmark is a folder with a benchmark.yaml (what is measured) and a config.yaml (who is tested, by
whom). The stages {", ".join(stage_names()[:-1])} and {stage_names()[-1]}, in this order, or `all`
of them, make results.json of it. Each row is kept as soon as it is finished, so that a stage makes only
what is missing or has changed.

\b
Example:
    convoprobe bench init honesty
    convoprobe bench all honesty
"""


@click.group(
    cls=BenchGroup,
    package=bench,
    short_help="Measure how often a behaviour shows, on many targets.",
    help=_HELP,
)
def command() -> None:
    """Group the commands for benchmarks."""
