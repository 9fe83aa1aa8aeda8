"""Scenarios without pytest: `run_scenario` for scripts, notebooks and other test runners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import NoTarget
from .result import ScenarioResult
from .runs.session import Session
from .runs.unrun import unrun_scenario
from .scenario import coerce
from .settings.loading import load_settings


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
    scenario_id = f"{loaded.file}::{loaded.id}"
    if loaded.skip is not None:
        return unrun_scenario(loaded, scenario_id, loaded.skip, skipped=True)
    with Session.of(merged, root) as session:
        try:
            with session.own_target(target) as made:
                return session.run(session.job(loaded, scenario_id, made))
        except NoTarget:
            raise NoTarget("or pass `target=`.") from None
