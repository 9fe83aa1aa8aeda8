"""Groups of commands that are loaded when they are needed: each module of a package is a command."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from keyword import iskeyword
from types import ModuleType
from typing import Any

import click

from ..suggest import did_you_mean

COMMAND = "convoprobe.command"
"""Where click's `meta` has the command that runs: its context is gone when an error arrives at the top."""


class LazyGroup(click.Group):
    """Finds its commands by the names of the modules of `package`: `dry_run.py` is `dry-run`.

    The name of the module works too; the help has the one with dashes alone. Packages are not commands. A
    module whose name Python keeps for itself has a `_` at its end: `import_.py` is `import`.
    """

    def __init__(self, *args: Any, package: ModuleType, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        # Looked up by name only: importing all commands for `--help` would take half a second.
        modules = pkgutil.iter_modules(self._package.__path__)
        return sorted(_command_name(module.name) for module in modules if not module.ispkg)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if _command_name(cmd_name) not in self.list_commands(ctx):
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f"{self._package.__name__}.{name}{'_' if iskeyword(name) else ''}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command is called by its name with dashes, however it was written.

        For one that there isn't, the nearest is named.
        """
        if self.get_command(ctx, args[0]) is None and (
            near := did_you_mean(args[0], self.list_commands(ctx))
        ):
            ctx.fail(f"No such command {args[0]!r}{near}")
        name, command, rest = super().resolve_command(ctx, args)
        ctx.meta[COMMAND] = command
        return name and name.replace("_", "-"), command, rest


def _command_name(module: str) -> str:
    return module.removesuffix("_").replace("_", "-")
