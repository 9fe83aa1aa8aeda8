"""The target that the settings name, for scenarios whose settings may differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import NoTarget, SettingsError
from ..files import shown_path
from ..redaction import Redactor
from ..scenario.loading import LoadedScenario, with_target
from ..settings.effective import LoadedSettings
from ..settings.merge import target_settings
from ..settings.several_targets import (
    SeveralTargets,
    is_name,
    names_of,
    no_such_target,
    of_one_target,
)
from ..targets.factory import build_target
from ..targets.port import ConversationContext, Target, TargetConversation


class ConfiguredTarget:
    """Stands for the target of each scenario's own settings; by itself it is that of the run's settings.

    One object for all, because pytest's fixture of the target has one value for a whole session, while the
    scenarios of a session may come from projects with different agents.
    """

    def __init__(self, settings_of: Callable[[str, str], LoadedSettings], rootdir: Path) -> None:
        self._settings_of = settings_of
        self._rootdir = rootdir
        self._built: dict[int, tuple[LoadedSettings, Target]] = {}

    def of(self, file: str, name: str = "") -> Target:
        """The target of a scenario's file, or that of the name; made once for each settings file.

        Raises `NoTarget` if its settings name none, and `SettingsError`, also where they name several.
        """
        loaded = self._settings_of(file, name)
        if id(loaded) not in self._built:
            self._built[id(loaded)] = (loaded, self._build(loaded, name))
        return self._built[id(loaded)][1]

    def _build(self, loaded: LoadedSettings, name: str) -> Target:
        settings = target_settings(loaded)
        if settings is None and loaded.settings.targets:
            raise SeveralTargets(names_of(loaded))
        if settings is None:
            raise NoTarget(file=self._place(loaded))
        mask = Redactor(loaded.secrets, environ={}).text
        try:
            return build_target(settings, rootdir=loaded.root or self._rootdir, mask=mask)
        except SettingsError as error:
            problems = tuple(of_one_target(problem, name) for problem in error.problems)
        raise SettingsError(problems)

    def _place(self, loaded: LoadedSettings) -> str:
        """The file that lacks a target: scenarios that have a settings file of their own need one there."""
        if loaded.file is None or loaded is self._settings_of("", ""):
            return "convoprobe.yaml"
        return shown_path(loaded.file)

    @property
    def name(self) -> str:
        return self.of("").name

    async def start(self, context: ConversationContext) -> TargetConversation:
        return await self.of("").start(context)

    async def aclose(self) -> None:
        """Close all that were made, whatever one of them raises."""
        problem: Exception | None = None
        while self._built:
            _, target = self._built.popitem()[1]
            try:
                await target.aclose()
            except Exception as error:  # noqa: BLE001 - the project's own code, raised when all are closed
                problem = error
        if problem is not None:
            raise problem


def of_scenario(target: Target, scenario: LoadedScenario) -> Target:
    """The target for a scenario: only those from the settings differ from scenario to scenario."""
    if isinstance(target, ConfiguredTarget):
        return target.of(scenario.file, scenario.configured)
    return target


def with_meant_target(
    scenario: LoadedScenario, settings: LoadedSettings, given: object = None, chosen: Sequence[str] = ()
) -> LoadedScenario:
    """The scenario with the one of `targets` in the settings that is meant by what was given as its target.

    As it is, if the settings have no `targets`, or if something else was given. `chosen` are those of the
    names that are asked for; none for all. Raises `SettingsError`.
    """
    names = names_of(settings)
    if isinstance(given, str) and names and is_name(given):
        chosen, given = (given,), None
    if given is not None or not (names or chosen):
        return scenario
    if unknown := [name for name in chosen if name not in names]:
        raise SettingsError.of(no_such_target(unknown[0], names), path="targets")
    asked = chosen or names
    if len(asked) > 1:
        raise SeveralTargets(asked)
    return with_target(scenario, asked[0])
