"""Scenarios without pytest: `run_scenario` for scripts, notebooks and other test runners."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import SettingsError
from .result import Outcome, ScenarioResult
from .runner import Job, Runner
from .scenario.loading import LoadedScenario, load_scenarios, parse_scenarios
from .scenario.models import Scenario
from .scheduling import LoopThread
from .settings.loading import LoadedSettings, load_settings
from .settings.merge import scenario_settings, target_settings
from .targets.factory import as_target, build_target
from .targets.port import Target

AnyScenario = str | Path | Mapping[str, Any] | Scenario | LoadedScenario


def run_scenario(
    scenario: AnyScenario,
    *,
    target: object = None,
    settings: Mapping[str, Any] | None = None,
    config_file: Path | str | None = None,
    rootdir: Path | str = ".",
) -> ScenarioResult:
    """Hold one scenario's conversation, judge it, and return the result.

    `scenario` is the path of a file (with `::name` behind it if the file has several), the YAML
    text itself, a mapping with the same keys, or a `Scenario`. `target` is anything that can be one (a
    function, a class, a `Target`), by default what the settings name. `settings` overrides values
    by dotted path (`{"judge.model": "openai/gpt-4o"}`) of the settings file, which is looked for
    upwards from `rootdir` unless `config_file` names it.

    Blocks until the result is there; from async code call it by `asyncio.to_thread`. Raises
    `ScenarioFileError`, `SettingsError` and `TargetStartError` before anything is run; what
    goes wrong later is in the result.
    """
    root = Path(rootdir).resolve()
    loaded = _loaded(scenario)
    config = Path(config_file) if config_file is not None else None
    merged = load_settings(root, config_file=config, overrides=settings)
    if loaded.skip is not None:
        return _skipped(loaded)
    return _run(loaded, _target(target, merged, root), merged)


def _run(loaded: LoadedScenario, target: Target, settings: LoadedSettings) -> ScenarioResult:
    override = loaded.scenario.config if loaded.scenario else None
    job = Job(loaded, f"{loaded.file}::{loaded.id}", target, scenario_settings(settings, override))
    loop, runner = LoopThread(), Runner(settings)
    try:
        return loop.run(runner.run(job))
    finally:
        loop.run(target.aclose())
        loop.run(runner.aclose())
        loop.close()


def _loaded(scenario: AnyScenario) -> LoadedScenario:
    if isinstance(scenario, LoadedScenario):
        return scenario
    if isinstance(scenario, Scenario):
        return _only(parse_scenarios(scenario.model_dump_json(exclude_unset=True), "<scenario>"), "")
    if isinstance(scenario, Mapping):
        # JSON is YAML: the same reader checks it, with the same messages.
        return _only(parse_scenarios(json.dumps(scenario, indent=2), "<mapping>"), "")
    if isinstance(scenario, str) and "\n" in scenario:
        return _only(parse_scenarios(scenario), "")
    path, _, name = str(scenario).partition("::")
    return _only(load_scenarios(Path(path)), name)


def _only(found: tuple[LoadedScenario, ...], name: str) -> LoadedScenario:
    """The scenario of that id or name, or the only one."""
    fitting = [loaded for loaded in found if not name or name in (loaded.id, loaded.name)]
    if len(fitting) == 1:
        return fitting[0]
    ids = ", ".join(repr(loaded.id) for loaded in found)
    raise ValueError(f"name one scenario by `file.yaml::name`; there are: {ids}")


def _target(given: object, settings: LoadedSettings, rootdir: Path) -> Target:
    if given is not None:
        return as_target(given, rootdir=rootdir)
    configured = target_settings(settings)
    if configured is None:
        raise SettingsError.of(
            "no target is named: pass `target=`, or set it in convoprobe.yaml", path="target"
        )
    return build_target(configured, rootdir=rootdir)


def _skipped(loaded: LoadedScenario) -> ScenarioResult:
    return ScenarioResult(
        name=loaded.name,
        scenario_id=f"{loaded.file}::{loaded.id}",
        file=loaded.file,
        line=loaded.line,
        outcome=Outcome.SKIPPED,
        reason=loaded.skip or "",
        tags=loaded.tags,
    )
