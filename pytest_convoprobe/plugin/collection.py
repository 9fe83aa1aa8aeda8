"""Scenario files as pytest's collectors."""

from __future__ import annotations

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
    ours = backend_of(config).is_scenario_file(path, _root(config, path), config.getini("convoprobe_files"))
    if ours or (not collectors and parent.session.isinitpath(path)):
        return [*collectors, ScenarioFile.from_parent(parent, path=path)]
    return collectors


def _root(config: pytest.Config, path: Path) -> Path:
    """The folder below which names of folders count: the rootdir, or else what was asked for."""
    asked = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    roots = [config.rootpath, config.invocation_params.dir, *asked]
    return next((root for root in roots if root in path.parents), path.parent)
