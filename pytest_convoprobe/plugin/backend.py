"""What the plug-in needs of the rest of the package, imported when it is first needed.

Everything heavy (pydantic, jinja2, yaml, the runner) is behind these methods, so that a suite
without scenarios never loads it. Tests of the plug-in's own mechanics put another one in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..llm.budget import Budget
    from ..reports.summary import Digest
    from ..result import ScenarioResult
    from ..runs.trial import Job
    from ..scenario.coerce import AnyScenario
    from ..scenario.loading import LoadedScenario
    from ..scenario.models import Scenario
    from ..settings.loading import LoadedSettings
    from ..settings.models import ScenarioSettings
    from ..targets.port import Target


class RunsJobs(Protocol):
    """The runner, as far as the plug-in is concerned."""

    @property
    def spent(self) -> tuple[float | None, int]: ...

    @property
    def budget(self) -> Budget: ...

    async def run(self, job: Job) -> ScenarioResult: ...

    def preload(self) -> None: ...

    async def aclose(self) -> None: ...


class Backend:
    """The real thing."""

    def is_scenario_file(self, path: Path, root: Path, patterns: Sequence[str]) -> bool:
        from ..scenario.discovery import is_scenario_file

        return is_scenario_file(path, root, tuple(patterns)) if patterns else is_scenario_file(path, root)

    def load_scenarios(self, path: Path) -> tuple[LoadedScenario, ...]:
        from ..scenario.loading import load_scenarios

        return load_scenarios(path)

    def as_given(self, scenario: AnyScenario, find: Callable[[str], Path]) -> LoadedScenario:
        """A scenario in whatever form a test has it."""
        from ..scenario import coerce

        return coerce.loaded(scenario, find)

    def load_settings(
        self, rootdir: Path, config_file: Path | None, overrides: Mapping[str, Any]
    ) -> LoadedSettings:
        from ..settings.loading import load_settings

        return load_settings(rootdir, config_file=config_file, overrides=overrides)

    def show_settings(self, loaded: LoadedSettings) -> str:
        from ..settings.show import show

        return show(loaded)

    def scenario_settings(self, loaded: LoadedSettings, scenario: Scenario) -> ScenarioSettings:
        from ..settings.merge import scenario_settings

        return scenario_settings(loaded, scenario.config)

    def check_models(self, loaded: LoadedSettings, scenario: Scenario) -> None:
        """Raise `SettingsError` if a role that a live run of the scenario calls has no model."""
        from ..runs.trial import require_models

        require_models(self.scenario_settings(loaded, scenario), scenario)

    def check_target_model(self, loaded: LoadedSettings) -> None:
        """Raise `SettingsError` if the target is to be a model and none is named."""
        from ..settings.merge import target_settings
        from ..settings.models import ModelTarget
        from ..settings.requirements import require_model

        target = target_settings(loaded)
        if isinstance(target, ModelTarget):
            require_model(target, "target")

    def configured_target(self, loaded: LoadedSettings, rootdir: Path) -> Target | None:
        """The target of the settings, or None if they name none."""
        from ..settings.merge import target_settings

        settings = target_settings(loaded)
        if settings is None:
            return None
        from ..targets.factory import build_target

        return build_target(settings, rootdir=rootdir)

    def as_target(self, value: object, rootdir: Path) -> Target:
        from ..targets.factory import as_target

        return as_target(value, rootdir=rootdir)

    def make_job(self, **fields: Any) -> Job:
        from ..runs.trial import Job

        return Job(**fields)

    def open_runner(self, loaded: LoadedSettings, workers: int) -> RunsJobs:
        from ..runs.trial import Runner

        return Runner(loaded, workers=workers)

    def failure_text(self, result: ScenarioResult, **layout: Any) -> str:
        from ..reports.failure import render_failure

        return render_failure(result, **layout)

    def headline(self, result: ScenarioResult) -> str:
        from ..reports.failure import headline

        return headline(result)

    def pack(self, results: Sequence[ScenarioResult]) -> list[dict[str, Any]]:
        """What the summary needs of results, fit to travel between processes."""
        from ..reports.summary import Digest

        return [Digest.of(result).to_json() for result in results]

    def unpack(self, data: Mapping[str, Any]) -> Digest:
        from ..reports.summary import Digest

        return Digest.from_json(data)

    def summary_lines(self, digests: Sequence[Digest], verbosity: int) -> list[str]:
        from ..reports.summary import summary_lines

        return summary_lines(digests, verbosity=verbosity)
