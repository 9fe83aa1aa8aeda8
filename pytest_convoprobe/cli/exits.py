"""The exit status of the command, the same for all of its commands."""

from __future__ import annotations

from collections.abc import Iterable

import click

from ..errors import ConvoprobeError, ResultsError, ScenarioFileError, SettingsError
from ..remedies import options_for

OK = 0
"""What was asked is done, and nothing is wrong."""

FINDINGS = 1
"""It is done, and there is something to look at: a problem, a failed trial, a regression."""

USAGE = 2
"""It can't be done as it was asked: the command line, the settings, no such run or scenario."""

TROUBLE = 3
"""It could not be done: a model, a target, the network, the disk."""


class UsageProblem(click.ClickException):
    """The request is invalid; the message goes to stderr."""

    exit_code = USAGE


class CommandFailed(click.ClickException):
    """It could not be done; the message goes to stderr."""

    exit_code = TROUBLE


def stopped_by(error: ConvoprobeError, command: click.Command | None = None) -> click.ClickException:
    """How the command ends on an error of this package."""
    from ..text import harmless

    # A script can try the others again; these fail again until somebody corrects something.
    asked_wrongly = isinstance(error, (ResultsError, ScenarioFileError, SettingsError))
    text = "\n".join(filter(None, (str(error), advice(error.remedies, command))))
    return (UsageProblem if asked_wrongly else CommandFailed)(harmless(text))


_SETTINGS = {
    "replay": "run.replay",
    "concurrency": "run.concurrency",
    "max_cost": "run.max_cost",
    "max_tokens": "run.max_tokens",
    "judge_model": "judge.model",
}
"""The settings that options of commands override, by the option's name."""


def advice(remedies: Iterable[str], command: click.Command | None = None) -> str:
    """`for this run: --max-cost`, if the command (by default the one that runs) has an option that helps.

    `remedies` are those of an error. Empty where no option helps.
    """
    if command is None and (context := click.get_current_context(silent=True)):
        command = context.command
    options = {
        _SETTINGS[option.name]: option.opts
        for option in (command.params if command else ())
        if isinstance(option, click.Option) and option.name in _SETTINGS
    }
    return options_for(remedies, options)
