"""Scenarios without pytest: `run_scenario` for scripts, notebooks and other test runners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import SettingsError
from .result import Outcome, ScenarioResult
from .runs.pool import LoopThread
from .runs.trial import Job, Runner
from .scenario import coerce
from .scenario.loading import LoadedScenario
from .settings.loading import LoadedSettings, load_settings
from .settings.merge import scenario_settings, target_settings
from .targets.factory import as_target, build_target
from .targets.port import Target


def run_scenario(
    scenario: coerce.AnyScenario,
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
    loaded = coerce.loaded(scenario)
    config = Path(config_file) if config_file is not None else None
    merged = load_settings(root, config_file=config, overrides=settings)
    if loaded.skip is not None:
        return _skipped(loaded)
    made = _target(target, merged, root)
    return _run(loaded, made, merged, close=made is not target)


def _run(loaded: LoadedScenario, target: Target, settings: LoadedSettings, *, close: bool) -> ScenarioResult:
    """Run it on a loop of its own; a target that was made for this run is closed with it."""
    override = loaded.scenario.config if loaded.scenario else None
    job = Job(loaded, f"{loaded.file}::{loaded.id}", target, scenario_settings(settings, override))
    loop, runner = LoopThread(), Runner(settings)
    try:
        return loop.run(runner.run(job))
    finally:
        if close:
            loop.run(target.aclose())
        loop.run(runner.aclose())
        loop.close()


def _target(value: object, settings: LoadedSettings, rootdir: Path) -> Target:
    if value is not None:
        return as_target(value, rootdir=rootdir)
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
