"""Scenarios without pytest: `run_scenario` for scripts, notebooks and other test runners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .calibration.requirement import require_reached
from .errors import NoTarget, SettingsError
from .result import ScenarioResult
from .runs.configured import with_meant_target
from .runs.session import Session
from .runs.unrun import unrun_scenario
from .scenario import coerce
from .settings.file_formats import given_in_code
from .settings.loading import LoadedSettings
from .settings.merge import scenario_settings
from .settings.nearest import ProjectSettings


def run_scenario(
    scenario: coerce.AnyScenario,
    *,
    target: object = None,
    settings: Mapping[str, Any] | None = None,
    config_file: Path | str | None = None,
    rootdir: Path | str = ".",
    mask: Callable[[str], str | None] | None = None,
    state: object = None,
) -> ScenarioResult:
    """Run the conversation of one scenario, judge it, and return the result.

    `scenario` is the path of a file (followed by `::name` if the file has several scenarios), the YAML
    text itself, a mapping with the same keys, or a `Scenario`. `target` is a function, a class, a `Target`,
    anything else that can be a target, or the name of one in `targets` of the settings. By default it is the
    target from the settings. `settings`
    overrides values of the settings file by dotted path (`{"judge.model": "openai/gpt-4o"}`). The settings
    file is `config_file`, or the nearest one at or above the scenario's file, or is searched from `rootdir`
    upwards. `mask` masks personal data in a text of the conversation, beside what `results.mask` does: it
    gets each text before it is recorded, returned or given to the judge. None leaves a text as it is.
    `state` is what functions in `evaluation.checks` get by that name, such as a database.

    This function blocks until the result is available, also where an event loop runs, as in a notebook. From
    async code that has other things to do meanwhile, call it with `asyncio.to_thread`. It raises
    `ScenarioFileError`, `SettingsError` and `TargetStartError` before anything runs. Later errors are in the
    result.
    """
    root = Path(rootdir).resolve()
    loaded = coerce.loaded(scenario)
    config = Path(config_file) if config_file is not None else None
    # A single scenario: the settings of its file are those of the whole run.
    merged = _merged(ProjectSettings(root, config_file=config, overrides=settings), loaded.file)
    loaded = with_meant_target(loaded, merged, target)
    scenario_id = f"{loaded.file}::{loaded.id}"
    if loaded.skip is not None:
        return unrun_scenario(loaded, scenario_id, loaded.skip, skipped=True)
    own = loaded.scenario.config if loaded.scenario else None
    if loaded.scenario is not None and loaded.scenario.evaluation.asks_judge:
        require_reached(scenario_settings(merged, own).judge, merged, root)
    with Session.of(merged, root) as session:
        try:
            with session.target(None if loaded.configured else target, name=loaded.configured) as made:
                return session.run(session.job(loaded, scenario_id, made, mask=mask, state=state))
        except NoTarget:
            raise NoTarget("or pass `target=`.") from None


def _merged(source: ProjectSettings, file: str) -> LoadedSettings:
    try:
        return source.of(file)
    except SettingsError as error:
        wrong = given_in_code(error)
    raise wrong
