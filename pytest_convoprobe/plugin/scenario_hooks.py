"""The hooks that cost something at each test, registered in sessions that have to do with scenarios."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

from ..stop_signals import end_soon
from . import options
from .captured import separate
from .ending import EndingHooks
from .keys import JUDGES, NEXT_ITEM, RESULTS, SESSION
from .masked_reports import mask
from .model_variables import variables_for
from .representing import errors_of_item, reported
from .storing import STORING_HOOKS, StoringHooks
from .stream import refuse_with_workers

_NAME = "convoprobe-scenarios"


def register(config: pytest.Config) -> None:
    """Register the hooks, if they aren't yet. Raises `pytest.UsageError` for options that contradict."""
    manager = config.pluginmanager
    if manager.hasplugin(_NAME):
        return
    refuse_with_workers(config)
    manager.register(ScenarioHooks(), _NAME)
    manager.register(StoringHooks(config), STORING_HOOKS)
    manager.register(EndingHooks(config), "convoprobe-ending")
    if not hasattr(config, "workerinput"):
        from .gate_exit import GateExit
        from .judge_gate import FitJudges
        from .undecided import NothingDecided

        manager.register(NothingDecided(config), "convoprobe-nothing-decided")
        manager.register(GateExit(config), "convoprobe-gate")
        manager.register(FitJudges(config), "convoprobe-fit-judges")
    if "allure_commons" in sys.modules:
        from .allure_times import register as register_times

        register_times(config)
    if options.wants_reports(config):
        from .run_reports import configure

        configure(config)  # the last: they see the session's end when all is stored


class ScenarioHooks:
    """The hooks around each test; all of them may come in the middle of one, with its first fixture."""

    _status: int | None = None
    _by_exit = False
    """Whether `pytest.exit` ended the session: then 0 may be the status that it asks for."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if options.chosen_targets(config):
            from .several_targets import choose

            choose(config, items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._by_exit = isinstance(excinfo.value, pytest.exit.Exception)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        try:
            return (yield)
        finally:
            self._status = int(session.exitstatus)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        if SESSION in config.stash and self._status is not None:
            from ..project_code.last_threads import leave_behind
            from ..project_code.pulse import pulse

            pulse.disable()
            interrupted = config.stash[SESSION].interrupted and not self._by_exit
            # A second Ctrl-C can come before pytest has noted the first: 0 is what it had until then.
            status = self._status or (int(pytest.ExitCode.INTERRUPTED) if interrupted else 0)
            leave_behind(status, interrupted=interrupted)
            if interrupted:
                end_soon(status)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        item.stash[NEXT_ITEM] = nextitem
        with variables_for(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        if nextitem is not None or SESSION not in item.config.stash:
            return (yield)
        # After this the fixtures of the session go away, and with them what is being talked to.
        with item.config.stash[SESSION].all_ended():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = (yield) if call.excinfo is None else (yield from reported(item, call))
        with errors_of_item(report):
            _complete(item, call, report)
        with errors_of_item(report):
            mask(item, report)
        return report


def _complete(item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    separate(item, report)
    if JUDGES in item.config.stash:
        from .judge_gate import carry_judges

        carry_judges(item, report)
    if RESULTS in item.stash:
        from .item_reports import complete

        complete(item, call, report)
    if report.failed and call.excinfo is not None:
        from .headings import name_blame

        name_blame(item.config, report, call.excinfo.value)
