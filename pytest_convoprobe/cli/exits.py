"""The exit status of the command, the same for all of its commands."""

from __future__ import annotations

import click

from ..errors import ConvoprobeError, ResultsError, ScenarioFileError, SettingsError

OK = 0
"""What was asked is done, and nothing is wrong."""

FINDINGS = 1
"""It is done, and there is something to look at: a problem, a failed trial, a regression."""

USAGE = 2
"""It can't be done as it was asked: the command line, the settings, no such run or scenario."""

TROUBLE = 3
"""It could not be done: a model, a target, the network, the disk."""

INTERRUPTED = 130
"""Ctrl-C, as shells have it."""


class UsageProblem(click.ClickException):
    """It can't be done as it was asked; the message goes to stderr."""

    exit_code = USAGE


class CommandFailed(click.ClickException):
    """It could not be done; the message goes to stderr."""

    exit_code = TROUBLE


def stopped_by(error: ConvoprobeError) -> click.ClickException:
    """The end of the command that an error of ours means."""
    from ..text import harmless

    asked_wrongly = isinstance(error, (ResultsError, ScenarioFileError, SettingsError))
    return (UsageProblem if asked_wrongly else CommandFailed)(harmless(str(error)))
