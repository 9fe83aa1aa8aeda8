"""`convoprobe bench`: the group of the commands for benchmarks."""

from __future__ import annotations

import click

from ...benchmark.stages.registry import stage_names
from .. import bench
from ..bench.shared.group import BenchGroup

_HELP = f"""
Benchmarks: how often an assistant shows a behaviour when realistic users try to provoke it.

A benchmark is a folder with a benchmark.yaml (what is measured) and a config.yaml (the targets, and the
models that test them). The stages are {", ".join(stage_names()[:-1])} and {stage_names()[-1]}, in this
order; `all` runs all of them. The result is results.json. Each row is stored when it is finished, so a stage
makes only what is missing or has changed.

\b
Example:
    convoprobe bench init honesty
    convoprobe bench all honesty
"""


@click.group(
    cls=BenchGroup,
    package=bench,
    short_help="Measure how often a behaviour occurs, with one target or many.",
    help=_HELP,
)
def command() -> None:
    """Group the commands for benchmarks."""
