"""Metadata for agents that are started to look at them, without a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ScenarioFileError
from ..scenario.discovery import DEFAULT_PATTERNS
from ..scenario.loading import load_scenarios
from ..scenario.root import ini_words
from ..scenario.search import search
from ..targets.port import SampleMetadata

if TYPE_CHECKING:
    from pathlib import Path


def sample_metadata(root: Path) -> SampleMetadata:
    """What the scenarios below `root` have in their `metadata`; of several values for a key, the first."""
    found = SampleMetadata()
    for file in search(root, root, ini_words(root, "convoprobe_files") or DEFAULT_PATTERNS).scenarios:
        try:
            scenarios = [one.scenario for one in load_scenarios(file) if one.scenario is not None]
        except (ScenarioFileError, OSError):
            continue  # `validate` says what is wrong with it
        for scenario in scenarios:
            found.update({**scenario.metadata, **found})
    return found
