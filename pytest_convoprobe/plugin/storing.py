"""Stores what a session's scenarios gave: the hooks by which the recorder of the run learns of it."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from ..results.run_info import RunState
from .carried import carried
from .keys import RECORDER, RESULTS, RUN_ID
from .orders import Order, has_mark, order_of
from .session import backend_of, load_settings

if TYPE_CHECKING:
    from ..runs.recorder import RunRecorder

_WORKER_INPUT = "convoprobe_run"
_SCENARIO_ITEM = re.compile(
    r"(?P<file>.+?\.ya?ml)::(?P<name>(?:(?!::).)+?)(?:\[trial-(?P<trial>\d+)\])?", re.IGNORECASE | re.DOTALL
)


def recorder_of(config: pytest.Config) -> RunRecorder:
    """The recorder of the session's run; made when it is first asked for."""
    if RECORDER not in config.stash:
        config.stash[RECORDER] = backend_of(config).open_recorder(
            config.rootpath,
            lambda: load_settings(config),
            _run_id(config),
            command=("pytest", *map(str, config.invocation_params.args)),
            worker=getattr(config, "workerinput", {}).get("workerid", "main"),
            wanted=not config.option.convoprobe_no_results,
        )
    return config.stash[RECORDER]


def share_run_id(node: Any) -> None:
    """Tell a worker of xdist, before it starts, to which run its trials belong."""
    node.workerinput[_WORKER_INPUT] = _run_id(node.config)


def _run_id(config: pytest.Config) -> str:
    """The run's id; xdist's workers have it from the process that started them."""
    if RUN_ID not in config.stash:
        given = getattr(config, "workerinput", {}).get(_WORKER_INPUT)
        config.stash[RUN_ID] = given or backend_of(config).new_run_id()
    return config.stash[RUN_ID]


def take(config: pytest.Config, load: Mapping[str, Any]) -> None:
    """Take what a report carried to the process that describes the run."""
    recorder = recorder_of(config)
    if record := load.get("unrun"):
        recorder.unrun(record)
    if "digests" in load:
        recorder.describe()
    for problem in load.get("problems", ()):
        recorder.take_problem(problem)


class StoringHooks:
    """The hooks by which the recorder learns of the session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._session: pytest.Session | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """A worker of xdist died in a scenario: without a record it would look like one that was removed."""
        recorder = recorder_of(self._config)
        recorder.lost_worker = True
        if recorder.wanted and (record := _crashed(self._config, crashitem, report)):
            recorder.unrun(record)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Begin here, since what an item's own phases do counts as its duration."""
        if order_of(item) is not None and not has_mark(item, "skip"):
            recorder_of(item.config).begin()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if (order := order_of(item)) is not None:
            _complete(order, call, report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        self._session = session
        try:
            return (yield)
        finally:
            # Once more: there may be no terminal, or the exit status has changed since the summary.
            self._finish(session.exitstatus, close=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> Generator[None, None, None]:
        for line in self._finish(exitstatus):
            terminalreporter.line(f"note: {line}", yellow=True)
        return (yield)

    def _finish(self, exit_status: int, *, close: bool = False) -> list[str]:
        recorder = self._config.stash.get(RECORDER, None)
        if recorder is None or self._session is None:
            return []
        recorder.finish(_state(self._session, exit_status), exit_status)
        if close:
            recorder.close()
        return recorder.problems


def _state(session: pytest.Session, exit_status: int) -> RunState:
    maxfail = session.config.getoption("maxfail", 0)
    if maxfail and session.testsfailed >= maxfail:
        return RunState.STOPPED
    if exit_status == pytest.ExitCode.INTERRUPTED:
        return RunState.INTERRUPTED
    return RunState.STOPPED if session.shouldstop or session.shouldfail else RunState.FINISHED


def _complete(order: Order, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Let a report carry what the process that describes the run must know."""
    item = order.item
    recorder = recorder_of(item.config)
    if recorder.wanted and call.when == "setup" and not report.passed and not item.stash.get(RESULTS, None):
        carried(report)["unrun"] = backend_of(item.config).unrun_record(
            order.loaded,
            order.scenario_id,
            _reason(call, report),
            skipped=report.skipped,
            trial=order.trial,
        )
    if recorder.problems:
        carried(report)["problems"] = recorder.problems


def _crashed(config: pytest.Config, nodeid: str, report: pytest.TestReport) -> str | None:
    """The record of a scenario whose worker died. Its id is all that is known of it here."""
    found = _SCENARIO_ITEM.fullmatch(nodeid)
    if found is None:
        return None
    return backend_of(config).crashed_record(
        found["name"],
        f"{found['file']}::{found['name']}",
        str(report.longrepr),
        file=str(config.rootpath / found["file"]),
        trial=int(found["trial"] or 1),
    )


def _reason(call: pytest.CallInfo[Any], report: pytest.TestReport) -> str:
    if expected := getattr(report, "wasxfail", None):
        return str(expected)
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return call.excinfo.exconly(tryshort=True).removeprefix("Failed: ") if call.excinfo else ""
