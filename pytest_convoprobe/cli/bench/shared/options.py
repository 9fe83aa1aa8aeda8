"""The options that commands of `convoprobe bench` share, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...console import Console
from ...exits import UsageProblem
from ...project import json_option
from ...suggestions import OneOf

if TYPE_CHECKING:
    from ....benchmark.format.project import LoadedBenchmark
    from ....benchmark.rows.work import Engine
    from ....benchmark.stages.options import Options

F = TypeVar("F", bound=Callable[..., Any])

_REPLAYS = ("off", "auto", "only", "record")


@dataclass(frozen=True)
class BenchOptions:
    """What the command line says; a command that lacks an option has its default."""

    folder: Path
    target: tuple[str, ...] = ()
    config_file: Path | None = None
    force: bool = False
    only: tuple[str, ...] = ()
    limit: int | None = None
    dry_run: bool = False
    all_metrics: bool = False
    engine: str = "local"
    ray_address: str | None = None
    workers: int | None = None
    replay: str | None = None
    concurrency: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    as_json: bool = False

    @property
    def overrides(self) -> dict[str, Any]:
        """Settings that the command line has, by dotted path; None for those that it hasn't."""
        return {
            "run.concurrency": self.concurrency,
            "run.max_cost": self.max_cost,
            "run.max_tokens": self.max_tokens,
        }

    @property
    def in_part(self) -> bool:
        """Whether rows are left out because somebody wants it so."""
        return self.limit is not None or bool(self.only)

    @property
    def targets(self) -> str:
        """The targets' ids, separated by commas."""
        return ",".join(self.target)

    def load(self) -> LoadedBenchmark:
        """The benchmark, read and checked; what is remarkable about its files is said on stderr.

        Raises `SettingsError`.
        """
        from ....benchmark.format.project import load_project

        loaded = load_project(
            self.folder,
            config_file=self.config_file,
            target=self.targets or None,
            replay=self.replay,
            overrides=self.overrides,
        )
        for notice in loaded.notices:
            Console.of().note(f"note: {notice}")
        return loaded

    def options(self) -> Options:
        """What of the stages is to be made."""
        from ....benchmark.stages.options import Options

        return Options(
            force=self.force,
            only=",".join(self.only),
            limit=self.limit,
            dry_run=self.dry_run,
            all_metrics=self.all_metrics,
        )

    def make_engine(self) -> Engine | None:
        """The engine that was asked for; None for the one in this process. Raises `UsageProblem`."""
        if self.engine == "ray":
            from ....benchmark.engines.ray import RayEngine

            return RayEngine(self.ray_address, self.workers)
        for name, value in (("--ray-address", self.ray_address), ("--workers", self.workers)):
            if value is not None:
                raise UsageProblem(f"{name} is for clusters: it needs --engine ray")
        return None


def folder_argument(function: F) -> F:
    """The argument DIR."""
    kind = click.Path(path_type=Path)
    return click.argument("folder", metavar="DIR", type=kind)(function)


def stage_options(function: F) -> F:
    """All options of a stage: what of it is made, how, and what is printed."""
    return _applied(
        function, (folder_argument, loading_options, _choosing_options, running_options, json_option)
    )


def loading_options(function: F) -> F:
    """Which targets, which settings."""
    target = click.option(
        "--target",
        metavar="ID",
        multiple=True,
        help="Only this target; may be repeated.",
    )
    config = click.option(
        "--config",
        "config_file",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Settings file, instead of DIR/config.yaml.",
    )
    return _applied(function, (target, config))


def running_options(function: F) -> F:
    """How models are called and rows are made."""
    return _applied(
        function,
        (
            click.option(
                "--engine",
                type=OneOf(["local", "ray"]),
                default="local",
                show_default=True,
                help="Work in this process, or on a Ray cluster.",
            ),
            click.option(
                "--ray-address",
                metavar="ADDRESS",
                help="The cluster; by default RAY_ADDRESS, or else this machine.",
            ),
            click.option(
                "--workers", metavar="N", type=click.IntRange(min=1), help="Worker processes on the cluster."
            ),
            click.option(
                "--replay",
                type=OneOf(_REPLAYS),
                help="Answer model calls from recordings, or record them.",
            ),
            click.option(
                "--concurrency",
                metavar="N",
                type=click.IntRange(min=1),
                help="Make up to N rows concurrently.",
            ),
            click.option(
                "--max-cost",
                metavar="USD",
                type=click.FloatRange(min=0),
                help="Stop at this many US dollars.",
            ),
            click.option(
                "--max-tokens", metavar="N", type=click.IntRange(min=0), help="Stop at this many tokens."
            ),
        ),
    )


def all_metrics_option(function: F) -> F:
    """`--all-metrics`."""
    return click.option(
        "--all-metrics",
        is_flag=True,
        help="Score each conversation for every metric, not only for its scenario's own.",
    )(function)


def dry_run_option(function: F) -> F:
    """`--dry-run`."""
    return click.option(
        "--dry-run", is_flag=True, help="Make nothing: show what would be made, and the cost."
    )(function)


def _choosing_options(function: F) -> F:
    return _applied(
        function,
        (
            click.option("--force", is_flag=True, help="Make finished rows again."),
            click.option(
                "--only",
                metavar="PATTERN",
                multiple=True,
                help="Only rows that match: an id, a scenario or a metric, with * and ?; may be repeated.",
            ),
            click.option(
                "--limit", metavar="N", type=click.IntRange(min=0), help="Make at most N rows in each stage."
            ),
            dry_run_option,
        ),
    )


def _applied(function: F, decorators: tuple[Callable[[F], F], ...]) -> F:
    """The first decorator's options come first in the help."""
    for decorator in reversed(decorators):
        function = decorator(function)
    return function
