"""The times of conversations for Allure, which takes none from pytest's reports: it has its own clock.

A conversation may run before its item's turn. Then Allure would show a test of no length at all.
"""

from __future__ import annotations

from typing import Any

import pytest

from .keys import RESULTS
from .orders import order_of


class AllureTimes:
    """Sets the times of a test of Allure's before it is written."""

    def __init__(self) -> None:
        self._item: pytest.Item | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self._item = item

    def set_times(self, test: Any) -> None:
        """`test` is a `TestResult` of Allure's, of the item that pytest is at; its times are milliseconds."""
        item = self._item
        if item is None or order_of(item) is None or not (results := item.stash.get(RESULTS, None)):
            return
        begun = results[-1].started or test.start / 1000
        test.start, test.stop = round(begun * 1000), round((begun + results[-1].duration) * 1000)


def register(config: pytest.Config) -> None:
    """Register the hooks if allure-pytest writes results in this process."""
    if not config.pluginmanager.hasplugin("allure_listener"):
        return
    import allure_commons

    times = AllureTimes()

    class BeforeItIsWritten:
        @allure_commons.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def report_result(self, result: Any) -> None:
            times.set_times(result)

    config.pluginmanager.register(times, "convoprobe-allure-times")
    # Allure has hooks of its own, in a manager that outlives the session.
    hooks = BeforeItIsWritten()
    allure_commons.plugin_manager.register(hooks)
    config.add_cleanup(lambda: allure_commons.plugin_manager.unregister(hooks))
