"""The group `convoprobe`: each module of `commands` is a command."""

from __future__ import annotations

import errno
import sys
from typing import Any, TextIO

import click

from .. import __version__
from ..errors import ConvoprobeError
from ..stop_signals import INTERRUPTED, end_soon, ends_process, exit_status
from . import commands
from .exits import CommandFailed, stopped_by
from .lazy import COMMAND, LazyGroup


class Main(LazyGroup):
    """Whatever ends a command early has one of the statuses of `exits`."""

    def main(self, *args: Any, **more: Any) -> Any:
        try:
            with ends_process():
                return super().main(*args, **more)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
            if status in INTERRUPTED:
                end_soon(status)
            # Only a command that has run agents has loaded it.
            last_threads = sys.modules.get("pytest_convoprobe.project_code.last_threads")
            if last_threads is not None:
                last_threads.leave_behind(status, interrupted=status in INTERRUPTED)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConvoprobeError as error:
            raise stopped_by(error, ctx.meta.get(COMMAND)) from None
        except click.FileError as error:
            raise CommandFailed(error.format_message()) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read the output went away; click ends quietly
            raise CommandFailed(str(error)) from None
        except KeyboardInterrupt as interrupt:
            click.echo("interrupted", err=True)
            ctx.exit(exit_status(interrupt))


@click.group(
    cls=Main,
    package=commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", prog_name="convoprobe", message="%(prog)s %(version)s")
def main() -> None:
    """Simulated conversations that are safe to block a merge with.

    pytest runs the scenarios:

    \b
        pytest scenarios/

    Each run is stored, and most commands read stored runs. A RUN is a run's id or the beginning of one,
    `latest`, `latest~1` (the one before), a run's folder, or a git branch, tag or commit.

    The exit status is 0 if nothing is wrong, 1 if there are findings, 2 if the request is invalid, 3 if
    something was not available (a model, a target, the disk).
    """  # noqa: D301 - click looks for the character itself
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_a_character(stream)


def _never_fail_on_a_character(stream: TextIO) -> None:
    """A terminal that can't show a character gets its escape instead of a crash."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        # Names of scenarios and replies may be in any script; a Windows console knows 256 characters.
        reconfigure(errors="backslashreplace")
