"""Which settings belong to a scenario's file: those of the nearest settings file.

A repository may hold several projects, each with its own `convoprobe.yaml`, and one run may take scenarios
from all of them. With one file for the whole run, the scenarios of one project would talk with the agent of
another, and nobody would notice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from ..errors import Problem, SettingsError
from ..files import shown_path
from .discovery import Source, find_source
from .effective import LoadedSettings
from .loading import load_settings, load_source

WHOLE_RUN = (
    *("run.concurrency", "run.max_cost", "run.max_tokens", "results.dir", "results.save"),
    *("gate.alpha", "gate.max_talks", "gate.per_scenario"),
)
"""Settings that a run has once, whatever number of settings files its scenarios have."""
_BUDGET = ("run.max_cost", "run.max_tokens")


class SettingsSource(Protocol):
    """Where a session takes its settings from. All of it raises `SettingsError`."""

    @property
    def main(self) -> LoadedSettings:
        """The settings of the run as a whole."""

    def of(self, file: str) -> LoadedSettings:
        """The settings of a scenario's file; the same object for all files that share a settings file."""


class OneForAll:
    """Settings that are loaded already, for every file."""

    def __init__(self, loaded: LoadedSettings) -> None:
        self.main = loaded

    def of(self, file: str) -> LoadedSettings:
        return self.main


class ProjectSettings:
    """The settings that are found from `rootdir` upwards, and those of settings files nearer to a scenario.

    The arguments are those of `load_settings`; with a `config_file` that file counts for everything.
    """

    def __init__(
        self,
        rootdir: Path,
        *,
        config_file: Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._rootdir = rootdir
        self._config_file = config_file
        self._overrides = overrides or {}
        # None is looked up where variables are filled in: a traceback with local variables (`--showlocals`)
        # shows what is kept here.
        self._environ = environ
        self._by_folder: dict[Path, LoadedSettings] = {}
        self._by_source: dict[tuple[Path, tuple[str, ...]], LoadedSettings] = {}

    @cached_property
    def main(self) -> LoadedSettings:
        return load_settings(
            self._rootdir, config_file=self._config_file, overrides=self._overrides, environ=self._environ
        )

    def of(self, file: str) -> LoadedSettings:
        # Scenarios that were written within code have `<mapping>` and the like in the place of a file.
        if self._config_file is not None or not file or file.startswith("<"):
            return self.main
        # Not resolved: a project that links to a folder of shared scenarios wants its own agent tested.
        folder = Path(os.path.abspath(file)).parent
        if folder not in self._by_folder:
            self._by_folder[folder] = self._found_from(folder)
        return self._by_folder[folder]

    def _found_from(self, folder: Path) -> LoadedSettings:
        source = None if folder == self._rootdir else find_source(folder, None)
        if source is None:
            return self.main
        # A notice on an mcprobe.yaml that is passed by belongs to the folder, not to the file that counts.
        key = (source.path, source.notices)
        if key not in self._by_source:
            self._by_source[key] = self._main_or_own(source)
        return self._by_source[key]

    def _main_or_own(self, source: Source) -> LoadedSettings:
        # By place first: what is wrong in the root's settings doesn't concern scenarios that have others.
        root, place = self._rootdir.resolve(), source.path.resolve()
        if place.parent in (root, *root.parents) and self.main.file and self.main.file.resolve() == place:
            more = tuple(notice for notice in source.notices if notice not in self.main.notices)
            return replace(self.main, notices=(*self.main.notices, *more)) if more else self.main
        return load_source(source, source.path.parent, overrides=self._overrides, environ=self._environ)


def within_run(loaded: LoadedSettings, main: LoadedSettings) -> LoadedSettings:
    """Settings of some scenarios of a run, with a notice for each value that differs in the run as a whole.

    Raises `SettingsError` if they limit what may be spent, and the run's own settings don't.
    """
    differing = [name for name in WHOLE_RUN if _differs(name, loaded, main)]
    if unlimited := [name for name in differing if name in _BUDGET and _value(main, name) is None]:
        raise SettingsError(tuple(_no_budget(name, loaded, main) for name in unlimited))
    notices = tuple(_other_value(name, loaded, main) for name in differing)
    return replace(loaded, notices=(*loaded.notices, *notices)) if notices else loaded


def _differs(name: str, loaded: LoadedSettings, main: LoadedSettings) -> bool:
    is_set = loaded.origins.get(name, "default") != "default"
    return is_set and _value(loaded, name) != _value(main, name)


def _value(loaded: LoadedSettings, name: str) -> object:
    section, _, field = name.partition(".")
    value: object = getattr(getattr(loaded.settings, section), field)
    return value


def _other_value(name: str, loaded: LoadedSettings, main: LoadedSettings) -> str:
    return (
        f"{_named(loaded)}: `{name}: {_value(loaded, name)}` does not count in this run. "
        f"The run as a whole has `{_value(main, name)}` ({_origin(main, name)})"
    )


def _no_budget(name: str, loaded: LoadedSettings, main: LoadedSettings) -> Problem:
    """An error and not a notice: what was meant to be the most that is spent would be no limit at all."""
    place = f"in {_named(main)}" if main.file else "in a settings file in the root directory"
    message = (
        f"`{name}: {_value(loaded, name)}` cannot limit this run: a run has one budget, and its own settings "
        f"set none. Set `{name}` {place}"
    )
    return Problem(message, _named(loaded), path=name, remedies=(name,))


def _named(loaded: LoadedSettings) -> str:
    return shown_path(loaded.file) if loaded.file else "the settings"


def _origin(main: LoadedSettings, name: str) -> str:
    return main.origins.get(name, "default")
