"""The group `convoprobe`: each module of `commands` is a command, loaded when it is needed."""

from __future__ import annotations

import errno
import pkgutil
import sys
from importlib import import_module
from typing import Any, TextIO

import click

from .. import __version__
from ..errors import ConvoprobeError
from . import commands
from .exits import INTERRUPTED, Trouble, stopped_by


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

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whatever ends it early has one of the statuses of `exits`."""
        try:
            return super().invoke(ctx)
        except ConvoprobeError as error:
            raise stopped_by(error) from None
        except click.FileError as error:
            raise Trouble(error.format_message()) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read the output went away; click ends quietly
            raise Trouble(str(error)) from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "--version", prog_name="convoprobe", message="%(prog)s %(version)s")
def main() -> None:
    """Simulated conversations that are safe to block a merge with.

    The scenarios themselves are run by pytest:

    \b
        pytest scenarios/

    Each run is stored, and most commands read stored runs. A RUN is a run's id or the beginning of it,
    `latest`, `latest~1` (the one before), a run's folder, or a git branch, tag or commit.

    The exit status is 0 if all is well, 1 if there are findings, 2 if it can't be done as asked,
    3 if something that it needs (a model, a target, the disk) was away.
    """  # noqa: D301 - click looks for the character itself
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_a_character(stream)


def _never_fail_on_a_character(stream: TextIO) -> None:
    """A terminal that can't show a character gets its escape instead of a crash."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
