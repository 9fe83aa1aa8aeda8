"""The part of the plug-in that needs the config where pytest's hook doesn't give it."""

from __future__ import annotations

import pytest


class Gatherer:
    """Takes the results of scenarios out of the reports, on the process that writes the summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if packed := getattr(report, "convoprobe", None):
            from .summary import gather

            gather(self._config, report, packed)
