"""The lazy door to the rest of the package: what it needs is imported when a method is first called.

Everything heavy (pydantic, jinja2, yaml, the runner) is behind these methods, for the files of the plug-in
that are loaded with the first scenario that is collected, or by xdist's controller. Files that are loaded
later, when something runs or is reported, import what they need at their top. Tests of the plug-in's own
mechanics put another backend in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..llm.member import Member
    from ..runs.recorder import RunRecorder
    from ..runs.runner import RunsJobs
    from ..runs.session import Session
    from ..scenario.loading import LoadedScenario
    from ..scenario.models import Scenario
    from ..settings.loading import LoadedSettings
    from ..settings.model_settings import ModelSettings
    from ..settings.models import RunSettings, ScenarioSettings
    from ..settings.nearest import SettingsSource


#: On the config: how the rest of the package is reached (replaced in tests).
BACKEND: pytest.StashKey[Backend] = pytest.StashKey()


class Backend:
    """The real thing."""

    def load_scenarios(self, path: Path) -> tuple[LoadedScenario, ...]:
        from ..scenario.loading import load_scenarios

        return load_scenarios(path)

    def settings_source(
        self, rootdir: Path, config_file: Path | None, overrides: Mapping[str, Any]
    ) -> SettingsSource:
        from ..settings.nearest import ProjectSettings

        return ProjectSettings(rootdir, config_file=config_file, overrides=overrides)

    def show_settings(self, loaded: LoadedSettings) -> str:
        from ..llm.clients_in_use import clients_in_use
        from ..settings.show import show

        clients = [(one.role, one.lane.name, one.words) for one in clients_in_use(loaded)]
        return show(loaded, {"clients": clients})

    def scenario_settings(self, loaded: LoadedSettings, scenario: Scenario) -> ScenarioSettings:
        from ..settings.merge import scenario_settings

        return scenario_settings(loaded, scenario.config)

    def check_models(self, loaded: LoadedSettings, scenario: Scenario, target: ModelSettings | None) -> None:
        """Raise `SettingsError` if a role that a live run of the scenario calls has no model."""
        from ..runs.preconditions import require_models

        require_models(self.scenario_settings(loaded, scenario), scenario, target=target)

    def require_checks(self, scenario: LoadedScenario, root: Path) -> None:
        """Raise `ScenarioFileError` if functions that it names as checks are certainly not there."""
        from ..runs.check_places import require_checks

        require_checks([scenario], root)

    def open_session(
        self, source: SettingsSource, rootdir: Path, join: Callable[[RunSettings], Member | None]
    ) -> Session:
        """`join` gives this process's half of the limits that it shares with others, if it does."""
        from ..runs.session import Session

        return Session(source, rootdir, self.open_runner, join)

    def open_runner(self, loaded: LoadedSettings, shared: Member | None) -> RunsJobs:
        from ..runs.runner import Runner

        return Runner(loaded, shared)

    def open_recorder(
        self, root: Path, load: Callable[[], LoadedSettings], run_id: str, **more: Any
    ) -> RunRecorder:
        from ..runs.recorder import RunRecorder

        return RunRecorder(root, load, run_id=run_id, **more)

    def new_run_id(self) -> str:
        from ..results.provenance import new_run_id

        return new_run_id()

    def unrun_record(self, loaded: LoadedScenario, scenario_id: str, reason: str, **more: Any) -> str:
        """The record of a scenario that had no conversation."""
        from ..runs.unrun import as_record, unrun_scenario

        return as_record(unrun_scenario(loaded, scenario_id, reason, **more))

    def crashed_record(self, name: str, scenario_id: str, reason: str, **more: Any) -> str:
        """The record of a scenario of which only the id is known."""
        from ..runs.unrun import as_record, unrun

        return as_record(unrun(name, scenario_id, reason, **more))
