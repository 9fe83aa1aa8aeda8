"""What reports carry from the process that ran a test to the one that sums up: the same one, or xdist's."""

from __future__ import annotations

from typing import Any

import pytest


def carried(report: pytest.TestReport) -> dict[str, Any]:
    """What a report carries, to be added to: plain data, so that it can travel between processes.

    `digests` of the results that are new in it, `unrun`, the record of a scenario that met no target, and
    `problems` of storing.
    """
    found: dict[str, Any] = report.__dict__.setdefault("convoprobe", {})
    return found


class Gatherer:
    """Takes it out again. The one hook of ours that every test of every suite pays for."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "convoprobe"):
            from .summary import gather

            gather(self._config, report)
