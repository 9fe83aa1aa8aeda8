"""Tags of scenarios in the list of `pytest --markers`, which collects nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..errors import ScenarioFileError
from ..files import relative_name
from ..scenario.discovery import looks_like_scenario
from ..scenario.search import find_scenario_files
from .file_names import asked_folders, patterns_of, root_of
from .marks import acts, spelling
from .session import backend_of


def list_tags(config: pytest.Config) -> None:
    """Register a marker for each tag in what pytest was asked to look at, with the files that have it."""
    places: dict[str, list[str]] = {}
    for tag, file in _tags(config):
        files = places.setdefault(spelling(tag), [])
        if (name := relative_name(file, config.rootpath)) not in files:
            files.append(name)
    for name, files in places.items():
        if not acts(config, name):
            config.addinivalue_line("markers", f"{name}: a tag of scenarios in {', '.join(files)}")


def _tags(config: pytest.Config) -> Iterator[tuple[str, Path]]:
    for folder in asked_folders(config):
        for file in find_scenario_files(folder, root_of(config, folder / "any"), patterns_of(config)):
            try:
                scenarios = backend_of(config).load_scenarios(file) if looks_like_scenario(file) else ()
            except ScenarioFileError:
                continue  # a list is no check; collecting the file names its mistakes
            yield from ((tag, file) for scenario in scenarios for tag in scenario.tags)
