"""Where the plug-in keeps its state: typed keys of pytest's stashes.

They name the objects of the layers below, never those of the plug-in's own files, so that every file of the
plug-in can use them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..calibration.measured import Measured
    from ..calibration.requirement import JudgeOfRun
    from ..gate.types import Decision
    from ..reports.summary import Digest
    from ..result import ScenarioResult
    from ..runs.recorder import RunRecorder
    from ..runs.session import Session
    from ..settings.effective import LoadedSettings

#: On the config: registers the hooks that only sessions with scenarios have.
START: pytest.StashKey[Callable[[], None]] = pytest.StashKey()
#: On the config: all that runs conversations; it is made when it is first needed.
SESSION: pytest.StashKey[Session] = pytest.StashKey()
#: On the config: the stored run, as far as this process writes it, and its id.
RECORDER: pytest.StashKey[RunRecorder] = pytest.StashKey()
RUN_ID: pytest.StashKey[str] = pytest.StashKey()
#: On the config: when the session began, in seconds since 1970.
BEGAN: pytest.StashKey[float] = pytest.StashKey()
#: On the config: the markers made from tags, name to description; there as soon as a scenario is collected.
TAGS: pytest.StashKey[dict[str, str]] = pytest.StashKey()
#: On the config: digests of results by node id, gathered from reports, so from xdist's workers too.
GATHERED: pytest.StashKey[dict[tuple[str, str | None], list[list[Digest]]]] = pytest.StashKey()
#: On the config: the ids of items of scenarios that ended in an error outside of their conversations.
ERRED: pytest.StashKey[set[str]] = pytest.StashKey()
#: On the config: how many scenarios each file has that was collected, selected or not.
COLLECTED: pytest.StashKey[dict[Path, int]] = pytest.StashKey()
#: On the config: how old the conversations of benchmarks' gates are, in words, by node id.
AGES: pytest.StashKey[dict[str, str]] = pytest.StashKey()
#: On the config: what benchmarks' undecided gates say, by node id; empty for those that are decided.
UNDECIDED: pytest.StashKey[dict[str, str]] = pytest.StashKey()
#: On the config: what benchmarks have to say; there as soon as one is collected.
BENCHMARKS: pytest.StashKey[list[str]] = pytest.StashKey()
#: On the config: what pytest left out on purpose, in lines for people.
LEFT_OUT: pytest.StashKey[list[str]] = pytest.StashKey()
#: On the config: whether the notices of the settings have been shown.
NOTED: pytest.StashKey[bool] = pytest.StashKey()
#: On the config: the judges of the run so far, by fingerprint.
JUDGES: pytest.StashKey[dict[tuple[str, str], JudgeOfRun]] = pytest.StashKey()
#: On the config: what labels files of this run have shown, by fingerprint of the judge and file.
MEASURED: pytest.StashKey[dict[tuple[str, str], Measured]] = pytest.StashKey()
#: On the item of a labels file: the judge that it measures, and the settings that name it.
LABELS: pytest.StashKey[LoadedSettings] = pytest.StashKey()
#: On an item: the item that runs after it, as far as pytest knows.
NEXT_ITEM: pytest.StashKey[pytest.Item | None] = pytest.StashKey()
#: On an item: the results that it had so far, and how many of them a report has carried away.
RESULTS: pytest.StashKey[list[ScenarioResult]] = pytest.StashKey()
#: On an item: the last results of the runs before the present one, by scenario and trial (a rerun).
EARLIER: pytest.StashKey[dict[tuple[str, int], ScenarioResult]] = pytest.StashKey()
REPORTED: pytest.StashKey[int] = pytest.StashKey()
#: On the item of a scenario: what the gate decided about it.
DECISION: pytest.StashKey[Decision] = pytest.StashKey()
#: On the config: whether the output of a scenario was left out of its report.
OUTPUT_LEFT_OUT: pytest.StashKey[bool] = pytest.StashKey()
#: On the config: how many conversations had ended after the last phase of an item.
ENDED: pytest.StashKey[int] = pytest.StashKey()
#: On an item: whether other conversations ran beside its own, so that what was captured may be theirs.
OVERLAPPED: pytest.StashKey[bool] = pytest.StashKey()
#: On an item: how long it waited for its conversations, in seconds.
WAITED: pytest.StashKey[float] = pytest.StashKey()


def start(config: pytest.Config) -> None:
    """Register those hooks, if they aren't yet: a scenario was collected, or something of ours is used.

    Raises `pytest.UsageError` for options that contradict each other.
    """
    config.stash[START]()
