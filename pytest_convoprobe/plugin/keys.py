"""Where the plug-in keeps its state: typed keys of pytest's stashes, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..reports.summary import Digest
    from ..result import ScenarioResult
    from .backend import Backend
    from .session import Engine
    from .storing import Store

#: On the config: how settings, targets and the runner are made (replaced in tests).
BACKEND: pytest.StashKey[Backend] = pytest.StashKey()
#: On the config: all that runs conversations; it comes to be when first needed.
ENGINE: pytest.StashKey[Engine] = pytest.StashKey()
#: On the config: the markers made from tags, name to description; there as soon as a scenario is collected.
TAGS: pytest.StashKey[dict[str, str]] = pytest.StashKey()
#: On the config: digests of results by node id, gathered from reports, so from xdist's workers too.
GATHERED: pytest.StashKey[dict[tuple[str, str | None], list[list[Digest]]]] = pytest.StashKey()
#: On the config: what benchmarks have to say; there as soon as one is collected.
BENCHMARKS: pytest.StashKey[list[str]] = pytest.StashKey()
#: On the config: whether the notices of the settings have been shown.
NOTED: pytest.StashKey[bool] = pytest.StashKey()
#: On the config: the stored run, as far as this process writes it.
STORE: pytest.StashKey[Store] = pytest.StashKey()
#: On an item: the item that runs after it, as far as pytest knows.
NEXT_ITEM: pytest.StashKey[pytest.Item | None] = pytest.StashKey()
#: On an item: the results that it had so far, and how many of them a report has carried away.
RESULTS: pytest.StashKey[list[ScenarioResult]] = pytest.StashKey()
REPORTED: pytest.StashKey[int] = pytest.StashKey()
#: On a scenario: how long it waited for its conversation, in seconds.
WAITED: pytest.StashKey[float] = pytest.StashKey()
