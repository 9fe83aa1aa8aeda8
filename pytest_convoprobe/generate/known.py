"""The scenarios that there are: a new one must not repeat one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ScenarioFileError
from ..scenario.loading import load_scenarios
from ..scenario.models import Scenario

_NEAR = 0.6
"""From this share of common words on, two openings ask the same, if the same tools are required."""


@dataclass
class KnownScenarios:
    """What is known of them: the openings with the tools that they require."""

    _openings: list[tuple[str, frozenset[str]]] = field(default_factory=list)

    @classmethod
    def in_folder(cls, folder: Path) -> KnownScenarios:
        """Those in the files of a folder and of the folders in it. A broken file has none."""
        known = cls()
        for file in sorted(folder.rglob("*.y*ml")) if folder.is_dir() else ():
            for scenario in _scenarios(file):
                known.add(scenario)
        return known

    def add(self, scenario: Scenario) -> None:
        """From now on, it is one of them."""
        # Where the agent speaks first, the user may have no words of its own to begin with.
        if opening := scenario.synthetic_user.initial_query:
            self._openings.append((opening, _tools(scenario)))

    def repeated_by(self, scenario: Scenario) -> str | None:
        """The opening that a scenario repeats; None if it is a new one."""
        opening, tools = scenario.synthetic_user.initial_query, _tools(scenario)
        for other, its_tools in self._openings:
            if _words(other) == _words(opening) or (tools == its_tools and _alike(other, opening)):
                return other
        return None

    @property
    def openings(self) -> list[str]:
        """What users say first in them."""
        return [opening for opening, _ in self._openings]


def _scenarios(file: Path) -> Iterator[Scenario]:
    try:
        yield from (one.scenario for one in load_scenarios(file) if one.scenario is not None)
    except (ScenarioFileError, OSError):
        return


def _tools(scenario: Scenario) -> frozenset[str]:
    return frozenset(scenario.evaluation.tool_usage.required_tools)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _alike(one: str, other: str) -> bool:
    words, others = set(_words(one)), set(_words(other))
    return len(words & others) >= _NEAR * len(words | others)
