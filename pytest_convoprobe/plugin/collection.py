"""Scenario files as pytest's collectors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from ..errors import ScenarioFileError
from . import options
from .items import ScenarioItem
from .session import backend_of


class ScenarioFile(pytest.File):
    """A file of scenarios."""

    def collect(self) -> Iterable[ScenarioItem]:
        try:
            scenarios = backend_of(self.config).load_scenarios(self.path)
        except ScenarioFileError as error:
            raise self.CollectError(self._in_words(error)) from None
        trials = range(1, options.trials(self.config) + 1)
        return [ScenarioItem.of(self, loaded, trial) for loaded in scenarios for trial in trials]

    def _in_words(self, error: ScenarioFileError) -> str:
        """All problems, with the path as pytest shows it."""
        return "\n".join(str(replace(problem, file=self.nodeid)) for problem in error.problems)


def with_scenarios(
    path: Path, parent: pytest.Collector, collectors: list[pytest.Collector]
) -> list[pytest.Collector]:
    """What the plug-ins make of a YAML file, and a `ScenarioFile` if it is one for us.

    A file named on the command line is ours even if no pattern says so, unless another plug-in takes it.
    """
    config = parent.config
    if path.name == "benchmark.yaml":
        from .benchmarks import benchmark_file

        if found := benchmark_file(path, parent, asked=_is_asked_for(parent.session, path)):
            return [*collectors, found]
    ours = backend_of(config).is_scenario_file(path, _root(config, path), config.getini("convoprobe_files"))
    if ours or (not collectors and _is_asked_for(parent.session, path)):
        return [*collectors, ScenarioFile.from_parent(parent, path=path)]
    return collectors


def _is_asked_for(session: pytest.Session, path: Path) -> bool:
    """Whether the command line names the file; pytest forgets it if it also names a folder above."""
    if session.isinitpath(path):
        return True
    return path in _asked(session.config)


def _asked(config: pytest.Config) -> list[Path]:
    """The files and folders of the command line; `..` is taken out of them, links stay."""
    names = (argument.partition("::")[0] for argument in config.args)
    return [Path(os.path.abspath(config.invocation_params.dir / name)) for name in names]


def _root(config: pytest.Config, path: Path) -> Path:
    """The folder below which names of folders count: the rootdir, or else what was asked for."""
    roots = [config.rootpath, config.invocation_params.dir, *_asked(config)]
    return next((root for root in roots if root in path.parents), path.parent)
