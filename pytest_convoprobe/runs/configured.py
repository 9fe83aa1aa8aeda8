"""The target that the settings name, for scenarios whose settings may differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import NoTarget
from ..files import shown_path
from ..redaction import Redactor
from ..settings.effective import LoadedSettings
from ..settings.merge import target_settings
from ..targets.factory import build_target
from ..targets.port import ConversationContext, Target, TargetConversation


class ConfiguredTarget:
    """Stands for the target of each scenario's own settings; by itself it is that of the run's settings.

    One object for all, because pytest's fixture of the target has one value for a whole session, while the
    scenarios of a session may come from projects with different agents.
    """

    def __init__(self, settings_of: Callable[[str], LoadedSettings], rootdir: Path) -> None:
        self._settings_of = settings_of
        self._rootdir = rootdir
        self._built: dict[int, tuple[LoadedSettings, Target]] = {}

    def of(self, file: str) -> Target:
        """The target of a scenario's file; made once for each settings file.

        Raises `NoTarget` if its settings name none, and `SettingsError`.
        """
        loaded = self._settings_of(file)
        if id(loaded) not in self._built:
            self._built[id(loaded)] = (loaded, self._build(loaded))
        return self._built[id(loaded)][1]

    def _build(self, loaded: LoadedSettings) -> Target:
        settings = target_settings(loaded)
        if settings is None:
            raise NoTarget(file=self._place(loaded))
        mask = Redactor(loaded.secrets, environ={}).text
        return build_target(settings, rootdir=loaded.root or self._rootdir, mask=mask)

    def _place(self, loaded: LoadedSettings) -> str:
        """The file that lacks a target: scenarios that have a settings file of their own need one there."""
        if loaded.file is None or loaded is self._settings_of(""):
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


def of_file(target: Target, file: str) -> Target:
    """The target for a scenario's file: only one from the settings differs from file to file."""
    return target.of(file) if isinstance(target, ConfiguredTarget) else target
