"""Which YAML files concern the plug-in: by name, by what the project says, and by a look at their keys.

Every YAML file of every suite comes by here, so this is light: what reads files is loaded only for a file
that is likely to be ours. Folders named `scenarios` belong to many programs (Molecule, load tests, games).
So a name alone makes no file ours: a suite in which the plug-in is only installed must not notice it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..scenario.discovery import (
    BENCHMARK_FILE,
    DEFAULT_PATTERNS,
    ENDINGS,
    SETTINGS_FILES,
    has_name_of_labels,
    is_scenario_file,
    looks_like_labels,
    looks_like_scenario,
)
from . import options
from .keys import BENCHMARKS, TAGS

SCENARIOS = "scenarios"
"""The folders of this name are the ones whose files are scenarios, if nothing else is said."""


class Seen(set[Path]):
    """The YAML files that pytest came by. `ignored` are the files and folders that it passed by."""

    def __init__(self) -> None:
        self.ignored: set[Path] = set()
        self.left_alone: list[Path] = []
        """The files with the name of a scenario file that nothing says to be one."""
        self.with_settings: dict[Path, bool] = {}
        """Whether there are settings for the files of a folder."""
        self.worth_a_walk = False
        """Whether there is a folder that is named like one of scenarios."""


_SEEN: pytest.StashKey[Seen] = pytest.StashKey()


def files_seen(config: pytest.Config) -> Seen:
    """What pytest's own walk has come by so far."""
    if _SEEN not in config.stash:
        config.stash[_SEEN] = Seen()
    return config.stash[_SEEN]


def is_worth_a_walk(config: pytest.Config) -> bool:
    """Whether there may be scenarios at all: a suite without any pays for no second walk."""
    seen = files_seen(config)
    if uses_us(config) or seen.worth_a_walk or seen.left_alone:
        return True
    return any(SCENARIOS in path.parts for path in asked_folders(config))


def uses_us(config: pytest.Config) -> bool:
    """Whether the project has scenarios or settings of ours. In others, nothing that we find is a mistake."""
    if TAGS in config.stash or BENCHMARKS in config.stash or any(files_seen(config).with_settings.values()):
        return True
    # All scenarios may be out of sight, in `build/` or behind a link that leads nowhere.
    return has_settings(config, config.rootpath)


def has_settings(config: pytest.Config, folder: Path) -> bool:
    """Whether the project says that it uses us: by its ini file, an option, or settings for the folder."""
    known = files_seen(config).with_settings
    if folder not in known:
        known[folder] = options.any_given(config) or any(map(_is_place_of_settings, _upwards(folder)))
    return known[folder]


def _upwards(folder: Path) -> Iterator[Path]:
    """The folders in which settings are looked for: up to the top of a version-controlled tree."""
    for place in (folder, *folder.parents):
        yield place
        if (place / ".git").exists():
            return


def _is_place_of_settings(folder: Path) -> bool:
    return any((folder / name).is_file() for name in SETTINGS_FILES) or _has_table(folder)


def _has_table(folder: Path) -> bool:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return False
    from ..files import read_file  # not at the top: a suite without any file of ours loads nothing

    try:
        return b"[tool.convoprobe" in read_file(path)
    except OSError:
        return False


def is_yaml(path: Path) -> bool:
    """Whether the file is looked at at all."""
    return path.suffix.lower() in ENDINGS


def may_be_benchmark(path: Path) -> bool:
    """Whether it has a benchmark's name. Other programs have files of that name too."""
    return path.name == BENCHMARK_FILE


def is_labels(path: Path, parent: pytest.Collector, *, taken: bool) -> bool:
    """Whether a file holds labelled conversations.

    Many programs have files of that name, so a suite with settings of ours is no sign by itself: at least one
    key has to be one of a labelled conversation. A file named on the command line is ours in any case.
    """
    if not has_name_of_labels(path):
        return False
    if is_asked_for(parent.session, path) and not taken:
        return not looks_like_scenario(path)
    return looks_like_labels(path, known=has_settings(parent.config, path.parent))


def is_scenarios(path: Path, parent: pytest.Collector, *, taken: bool) -> bool:
    """Whether a YAML file holds scenarios.

    A file named on the command line is ours even if no pattern says so, unless another plug-in has
    `taken` it. Any other needs the name, and a sign besides: settings of ours, or a key of a scenario.
    """
    config = parent.config
    named = is_scenario_file(path, root_of(config, path), patterns_of(config))
    if is_asked_for(parent.session, path):
        return named or not taken
    if not named:
        return False
    if has_settings(config, path.parent) or looks_like_scenario(path):
        return True
    files_seen(config).left_alone.append(path)
    return False


def is_asked_for(session: pytest.Session, path: Path) -> bool:
    """Whether the command line names the file; pytest forgets it if it also names a folder above."""
    return session.isinitpath(path) or path in _asked(session.config)


def _asked(config: pytest.Config) -> list[Path]:
    """The files and folders of the command line; `..` is taken out of them, links stay."""
    names = (argument.partition("::")[0] for argument in config.args)
    return [Path(os.path.abspath(config.invocation_params.dir / name)) for name in names]


def asked_places(config: pytest.Config) -> list[Path]:
    """The files of the command line, and for each folder the name of a file that could be in it."""
    return [path / "any" if path.is_dir() else path for path in _asked(config)]


def asked_folders(config: pytest.Config) -> list[Path]:
    """The folders that pytest was asked to search; a folder within another one is left out."""
    folders = [path for path in _asked(config) if path.is_dir()]
    return [one for one in dict.fromkeys(folders) if not any(other in one.parents for other in folders)]


def is_for_other_runs(config: pytest.Config, option: str) -> bool:
    """Whether the ini file demands something of runs with scenarios, and this is `pytest tests/unit`.

    Such a run looks only at places without scenarios, while the project has some. If it has none at all, they
    may have been moved or renamed: then the demand is for every run.
    """
    if not options.is_from_ini(config, option):
        return False
    from ..scenario.search import search  # not at the top: a suite without any file of ours loads nothing

    found = search(config.rootpath, config.rootpath, patterns_of(config)).scenarios
    scenarios = [path for path in found if looks_like_scenario(path)]
    asked = _asked(config)
    return bool(scenarios) and not any(one in (path, *path.parents) for path in scenarios for one in asked)


def patterns_of(config: pytest.Config) -> tuple[str, ...]:
    """The patterns of scenario files."""
    return tuple(config.getini("convoprobe_files")) or DEFAULT_PATTERNS


def root_of(config: pytest.Config, path: Path) -> Path:
    """The folder below which names of folders count: the rootdir, or else what was asked for."""
    roots = [config.rootpath, config.invocation_params.dir, *_asked(config)]
    return next((root for root in roots if root in path.parents), path.parent)
