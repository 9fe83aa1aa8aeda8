"""Scenario files as pytest's collectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from ..errors import ScenarioFileError
from . import options
from .items import ScenarioItem
from .keys import COLLECTED
from .session import backend_of


class ScenarioFile(pytest.File):
    """A file of scenarios."""

    def collect(self) -> Iterable[ScenarioItem]:
        try:
            scenarios = backend_of(self.config).load_scenarios(self.path)
        except ScenarioFileError as error:
            raise self.CollectError(self._in_words(error)) from None
        self.config.stash.setdefault(COLLECTED, {})[self.path] = len(scenarios)
        trials = range(1, options.trials(self.config) + 1)
        return [ScenarioItem.of(self, loaded, trial) for loaded in scenarios for trial in trials]

    def _in_words(self, error: ScenarioFileError) -> str:
        """All problems, with the path as pytest shows it."""
        return "\n".join(str(replace(problem, file=self.nodeid)) for problem in error.problems)
