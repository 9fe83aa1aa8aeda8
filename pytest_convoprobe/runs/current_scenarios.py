"""Stored trials and what belongs to them today: the scenario's file, the settings, no recordings."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ..errors import ResultsError
from ..results.index import IndexRow
from ..scenario.loading import LoadedScenario, load_criteria, with_parameters
from ..settings.effective import LoadedSettings
from ..settings.merge import scenario_settings
from ..settings.models import ScenarioSettings
from ..settings.several_targets import names_of


class Scenarios:
    """Finds the scenarios of stored trials in today's files, each of which is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._load = lru_cache(maxsize=None)(load_criteria)

    def of(self, row: IndexRow) -> LoadedScenario:
        """The scenario as its file has it now.

        Raises `ResultsError` if it is gone, isn't finished, or was written within a test;
        `ScenarioFileError` if its file is broken.
        """
        file, _, identifier = row.scenario_id.partition("::")
        path = self._root / file
        if path.suffix.lower() not in (".yaml", ".yml"):
            raise ResultsError(f"it is part of the test {row.scenario_id}, which only pytest can run")
        if not path.is_file():
            raise ResultsError(f"its file {file} is not there any more (looked for in {self._root})")
        found = _find(self._load(path), identifier, row.name)
        if found is None:
            raise ResultsError(f"{file} has no scenario {identifier!r} any more")
        if found.scenario is None:
            raise ResultsError(f"it is skipped and unfinished in {file}")
        return found


def _find(scenarios: tuple[LoadedScenario, ...], identifier: str, name: str) -> LoadedScenario | None:
    """The scenario of an id, under the id and name that it had with the parameters of a fixture."""
    # The id alone is not enough: `Refund[2]` may also be the second scenario of that name, which is gone.
    with_its = [
        with_parameters(loaded, identifier.removeprefix(loaded.id)[1:-1])
        for loaded in scenarios
        if identifier.startswith(f"{loaded.id}[")
    ]
    found = [one for one in with_its if (one.id, one.name) == (identifier, name)]
    return next((loaded for loaded in (*found, *scenarios) if loaded.id == identifier), None)


def of_named_target(scenario: LoadedScenario, settings: LoadedSettings) -> LoadedScenario:
    """The scenario with the one of `targets` in the settings that its parameters name, if they name one."""
    others, _, last = scenario.parameters.rpartition("][")
    if last not in names_of(settings):
        return scenario
    return replace(scenario, parameters=others, target=last, configured=last)


def live_settings(loaded: LoadedSettings, scenario: LoadedScenario) -> ScenarioSettings:
    """What the scenario runs with today, but never from a recording: what is asked for is a new answer."""
    settings = scenario_settings(loaded, scenario.scenario.config if scenario.scenario else None)
    run = settings.run.model_copy(update={"replay": "off"})
    return settings.model_copy(update={"run": run})
