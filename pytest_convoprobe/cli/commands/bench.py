"""`convoprobe bench`: the group of the commands for benchmarks."""

from __future__ import annotations

import click

from .. import bench
from ..lazy import LazyGroup


@click.group(cls=LazyGroup, package=bench, short_help="Measure how often a behaviour shows, on many targets.")
def command() -> None:
    """Benchmarks: which behaviours an assistant shows when realistic users try to elicit them.

    A benchmark is a folder with a benchmark.yaml (what is measured) and a config.yaml (who is tested, by
    whom). The stages gen-metrics, gen-scenarios, simulate, evaluate and aggregate, in this order, or `all`
    of them, make results.json of it. Each row is kept as it is finished, so that a stage makes only what is
    missing or has changed.

    \b
    Example:
        convoprobe bench init honesty
        convoprobe bench all honesty
    """  # noqa: D301 - click looks for the character itself
