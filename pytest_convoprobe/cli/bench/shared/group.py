"""The group `bench`: a command for each stage of the registry, and the modules of the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...lazy import LazyGroup
from ...project import json_option
from .options import BenchOptions, all_metrics_option, folder_argument, loading_options, stage_options
from .run_stages import run_command

if TYPE_CHECKING:
    from ....benchmark.stages.registry import StageEntry


class BenchGroup(LazyGroup):
    """`gen-metrics` and the other stages, beside `init`, `status` and what else is a module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ....benchmark.stages.registry import stage_names

        return sorted([*super().list_commands(ctx), *stage_names()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ....benchmark.stages.registry import entry, stage_names

        name = cmd_name.replace("_", "-")
        return stage_command(entry(name)) if name in stage_names() else super().get_command(ctx, cmd_name)


def stage_command(entry: StageEntry) -> click.Command:
    """The command that runs one stage; one that makes no rows has only the options of reading."""

    @click.pass_context
    def command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
        run_command(ctx, (entry.name,), BenchOptions(folder, **given))

    function: Callable[..., None] = command
    if entry.all_metrics:
        function = all_metrics_option(function)
    if entry.steps:
        function = stage_options(function)
    else:
        function = folder_argument(loading_options(json_option(function)))
    return click.command(entry.name, help=entry.help, short_help=entry.short_help)(function)
