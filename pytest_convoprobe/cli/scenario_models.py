"""What scenarios need of their own: the models of their `config`, and packages for their checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import MissingPackage, Problem, SettingsError
from ..files import shown_path
from ..llm.known_models import check_model
from ..llm.port import Role
from ..runs.preconditions import calls_user, require_packages
from ..scenario.loading import LoadedScenario
from ..settings.effective import LoadedSettings
from ..settings.merge import scenario_settings
from .finding import Finding


def model_findings(scenarios: Iterable[LoadedScenario], loaded: LoadedSettings) -> list[Finding]:
    """A finding for each model of a scenario's `config` that cannot answer. Nothing is called."""
    return [Finding("scenario", False, str(problem)) for one in scenarios for problem in _wrong(one, loaded)]


def _wrong(one: LoadedScenario, loaded: LoadedSettings) -> Iterator[Problem]:
    config = one.scenario.config if one.scenario is not None else None
    if config is None or one.skip is not None:
        return
    for role in (Role.JUDGE, Role.SYNTHETIC_USER):
        settings = getattr(scenario_settings(loaded, config), role.value)
        # What the scenario leaves as it is has been looked at already; so has a variable that is missing.
        if settings == getattr(loaded.settings, role.value) or settings.unresolved:
            continue
        try:
            check_model(settings, role)
        except SettingsError as error:
            message = error.problems[0].message
            yield Problem(message, shown_path(Path(one.file)), one.line, path=f"config.{role.value}.model")


def roles_without_calls(scenarios: Iterable[LoadedScenario]) -> dict[Role, str]:
    """The roles whose model no scenario ever calls, and why. None where there is no scenario yet."""
    every = [one.scenario for one in scenarios if one.scenario is not None]
    unused: dict[Role, str] = {}
    if every and not any(one.evaluation.asks_judge for one in every):
        unused[Role.JUDGE] = "all checks of the scenarios are by code"
    if every and not any(map(calls_user, every)):
        unused[Role.SYNTHETIC_USER] = "all messages of the scenarios are written in them"
    return unused


def package_findings(scenarios: Iterable[LoadedScenario]) -> list[Finding]:
    """A finding if checks of the scenarios need a package that isn't installed."""
    try:
        for one in scenarios:
            if one.scenario is not None and one.skip is None:
                require_packages(one.scenario)
    except MissingPackage as error:
        return [Finding("scenario", False, str(error))]
    return []
