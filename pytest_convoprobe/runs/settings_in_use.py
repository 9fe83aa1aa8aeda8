"""The settings of a session's scenarios: those of each file, with the target that a scenario is run with."""

from __future__ import annotations

from ..settings.loading import LoadedSettings
from ..settings.nearest import SettingsSource, within_run
from ..settings.several_targets import with_only_target, with_target


class SettingsInUse:
    """What was needed of the settings so far. Nothing is read before; all of it raises `SettingsError`."""

    def __init__(self, source: SettingsSource) -> None:
        self._source = source
        self._known: dict[tuple[int, str], LoadedSettings] = {}

    @property
    def main(self) -> LoadedSettings:
        """Those of the run as a whole: its budget, its concurrency."""
        return self._of(self._source.main, "")

    def of(self, file: str, target: str = "") -> LoadedSettings:
        """Those of a scenario's file; always the same object for the same settings file and target.

        `target` is a name in `targets`. Without one, the settings have no target where there are several.
        """
        return self._of(self._source.of(file), target)

    @property
    def notices(self) -> tuple[str, ...]:
        """What those that were needed have to say."""
        every = (self.main, *self._known.values())
        found = [notice for loaded in every for notice in loaded.notices]
        return tuple(dict.fromkeys([*found, *_unsaved(self.main)]))

    def _of(self, loaded: LoadedSettings, target: str) -> LoadedSettings:
        key = id(loaded), target
        if key not in self._known:
            of_file = loaded if loaded is self._source.main else within_run(loaded, self._source.main)
            self._known[key] = with_target(of_file, target) if target else with_only_target(of_file)
        return self._known[key]


def _unsaved(loaded: LoadedSettings) -> list[str]:
    """Said in each run: who looks for a stored run later should not wonder why there is none."""
    if loaded.settings.results.save:
        return []
    return [f"this run is not stored: results.save is false ({loaded.origins.get('results.save', '')})"]
