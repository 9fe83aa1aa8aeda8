"""The project that a command is about: its root, its settings, its stored runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..scenario.root import find_root

if TYPE_CHECKING:
    from ..results.baselines import Baseline
    from ..results.store import RunRef, StoredRun
    from ..settings.loading import LoadedSettings
    from ..settings.nearest import ProjectSettings

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Project:
    """What a command works on; nothing is read before it is asked for."""

    root: Path
    config_file: Path | None = None
    results_dir: Path | None = None

    @classmethod
    def here(cls, config_file: Path | None = None, results_dir: Path | None = None) -> Project:
        """The project around the working folder."""
        return cls(find_root(Path.cwd()), config_file, results_dir)

    def settings(self, overrides: Mapping[str, Any] | None = None) -> LoadedSettings:
        """The settings of a run as a whole. Raises `SettingsError`."""
        return self.source(overrides).main

    def source(self, overrides: Mapping[str, Any] | None = None) -> ProjectSettings:
        """The same, and those of scenarios that have a nearer settings file. Nothing is read yet."""
        from ..settings.nearest import ProjectSettings

        return ProjectSettings(self.root, config_file=self.config_file, overrides=overrides)

    @cached_property
    def results(self) -> Path:
        """The folder of stored runs. A key that isn't set in this shell doesn't matter for reading."""
        if self.results_dir is not None:
            return self.results_dir
        return self.root / self.settings({"run.replay": "only"}).settings.results.dir

    def resolve(self, text: str) -> RunRef:
        """The stored run that the user means. Raises `ResultsError`."""
        from ..results.store import resolve_run

        return resolve_run(self.results, text)

    def open(self, text: str) -> StoredRun:
        """The same, ready to read."""
        from ..results.store import open_run

        return open_run(self.resolve(text).path)

    def baseline(self, text: str, head: StoredRun | None = None) -> Baseline:
        """The run that the user means as a baseline for `head`. Raises `ResultsError`."""
        from ..results.baselines import baseline_for

        return baseline_for(self.results, text, head)

    def runs(self) -> list[RunRef]:
        """All stored runs, the newest first."""
        from ..results.store import list_runs

        return list_runs(self.results)


def project_options(function: F) -> F:
    """The options that say where the settings and the stored runs are."""
    config = click.option(
        "--config",
        "config_file",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Settings file, instead of the one found from the working folder upwards.",
    )
    results = click.option(
        "--results",
        "results_dir",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of stored runs, instead of results.dir in the settings.",
    )
    return config(results(function))


def json_option(function: F) -> F:
    """`--json`."""
    option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
    return option(function)


def judge_option(function: F) -> F:
    """`--judge-model`, for commands that ask the judge about stored conversations."""
    option = click.option(
        "--judge-model", metavar="MODEL", help="The judge, instead of the one in the settings."
    )
    return option(function)


def expression_option(function: F) -> F:
    """`-k`, which chooses scenarios of a stored run; see `keyword_expression.selects`."""
    option = click.option(
        "-k",
        "expression",
        metavar="EXPR",
        help="Only scenarios that match, as in pytest: 'refund and not slow'.",
    )
    return option(function)
