"""The group `convoprobe`: each module of `commands` is a command, loaded when it is needed."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from typing import TextIO

import click

from .. import __version__
from . import commands


class LazyGroup(click.Group):
    """Finds its commands by the names of their modules (`dry_run.py` is `dry-run`)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (module.name for module in pkgutil.iter_modules(commands.__path__))
        return sorted(name.replace("_", "-") for name in names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "--version", prog_name="convoprobe", message="%(prog)s %(version)s")
def main() -> None:
    """Simulated conversations that are safe to block a merge with.

    The scenarios themselves are run by pytest:

    \b
        pytest scenarios/
    """  # noqa: D301 - click looks for the character itself
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_a_character(stream)


def _never_fail_on_a_character(stream: TextIO) -> None:
    """A terminal that can't show a character gets its escape instead of a crash."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
