"""How much of the project's scenarios a session selected, and how much of that was reported.

A run that lacks scenarios must not look like one from which they were removed: whoever compares runs asks
the stored run what was selected, of what there is, and whether all of it had its turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from glob import glob
from pathlib import Path

import pytest

from ..results.run_info import RunState, Selection
from ..scenario.discovery import DEFAULT_PATTERNS, looks_like_scenario
from ..scenario.search import find_scenario_files
from .keys import COLLECTED
from .orders import order_of

_FIXTURE = "convoprobe"


class Progress:
    """Which items of a session had their turn. `note` takes every report, the workers' of xdist too."""

    def __init__(self) -> None:
        self._selected: set[str] = set()
        self._reported: set[str] = set()
        self._first: str | None = None
        self.collection_failed = False
        self.lost_worker = False
        self.has_scenarios = False
        """Whether workers of xdist have collected scenarios; the controller's own session has none."""

    def select(self, nodeids: Iterable[str]) -> None:
        """These are to be run."""
        self._selected.update(nodeids)

    def note(self, report: pytest.TestReport) -> None:
        """An item is done with its teardown, or with the death of its worker."""
        self._first = self._first or report.nodeid
        if report.when not in ("setup", "call"):
            self._reported.add(report.nodeid)

    def state(self, session: pytest.Session, exit_status: int) -> RunState:
        """How the session ends. Finished means that all selected items were reported, and nothing else."""
        maxfail = session.config.getoption("maxfail", 0)
        stopped = bool(maxfail and session.testsfailed >= maxfail)
        broken = exit_status in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
        if self.lost_worker or self.collection_failed or (broken and not stopped):
            return RunState.INTERRUPTED
        if not self._missing(session):
            return RunState.FINISHED
        early = stopped or session.shouldstop or session.shouldfail
        return RunState.STOPPED if early else RunState.INTERRUPTED

    def _missing(self, session: pytest.Session) -> set[str]:
        """What was selected and never reported. xdist's controller has no items of its own."""
        selected = self._selected or {item.nodeid for item in self._watched(session)}
        return selected - self._reported

    def _watched(self, session: pytest.Session) -> list[pytest.Item]:
        """Hooks that came with a fixture in the middle of the session saw nothing of the items before."""
        items = list(getattr(session, "items", ()))
        begun = next((place for place, item in enumerate(items) if item.nodeid == self._first), 0)
        return items[begun:]


def selection_of(session: pytest.Session, deselected: Iterable[pytest.Item]) -> Selection:
    """What was selected, and what there is: a test that uses our fixture counts like a scenario."""
    scenarios, tests = _units(session.items)
    _, others = _units(deselected)
    collected: dict[Path, int] = session.config.stash.get(COLLECTED, {})
    elsewhere = (path for path in _files(session.config) if path not in collected)
    uncollected = [path for path in elsewhere if looks_like_scenario(path)]
    existing = sum(collected.values()) + len(uncollected) + len(tests | others)
    trials = sum(order_of(item) is not None for item in session.items)
    return Selection(len(scenarios | tests), existing, trials, len(scenarios))


def _units(items: Iterable[pytest.Item]) -> tuple[set[str], set[str]]:
    """The ids of scenarios, and of the tests that use the fixture."""
    scenarios, tests = set(), set()
    for item in items:
        if (order := order_of(item)) is not None:
            scenarios.add(order.scenario_id)
        elif _FIXTURE in getattr(item, "fixturenames", ()):
            tests.add(item.nodeid)
    return scenarios, tests


def _files(config: pytest.Config) -> list[Path]:
    """The project's scenario files: those that pytest would collect without arguments, as it names them."""
    patterns = tuple(config.getini("convoprobe_files")) or DEFAULT_PATTERNS
    named = (str(config.rootpath / path) for path in config.getini("testpaths"))
    # As pytest reads them: with wildcards, and as nothing at all if no folder fits.
    roots = [Path(path) for one in named for path in sorted(glob(one, recursive=True))] or [config.rootpath]
    found = (path for root in roots for path in find_scenario_files(root, config.rootpath, patterns))
    return list(dict.fromkeys(found))
