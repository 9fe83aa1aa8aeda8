"""`convoprobe baseline`: the group of the commands for the files that the gate compares with."""

from __future__ import annotations

import click

from .. import baseline
from ..lazy import LazyGroup


@click.group(
    cls=LazyGroup, package=baseline, short_help="Keep how often each scenario failed, in the repository."
)
def command() -> None:
    """Keep how often each scenario failed before, in `_baseline.json` beside the scenarios.

    The gate compares a run with this file where there is one. It is part of the repository: a pull request
    needs no stored run of the base branch, and a review shows what changed.

    \b
    Example:
        convoprobe baseline update latest --dry-run
        convoprobe baseline accept "Late refund" --reason "#123: refunds need a receipt now"
    """  # noqa: D301 - click looks for the character itself
