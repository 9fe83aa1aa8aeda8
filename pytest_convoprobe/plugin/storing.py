"""Stores what a session's scenarios gave: the hooks by which the recorder of the run learns of it."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import ConvoprobeError
from ..gate.types import Decision
from ..results.run_info import RunState, Selection
from ..stop_signals import ignored_meanwhile
from .carried import carried
from .keys import DECISION, EARLIER, RECORDER, RESULTS, RUN_ID
from .orders import Order, has_mark, order_of
from .representing import errors_of_item
from .selection import Progress, selection_of
from .session import backend_of, load_settings
from .several_targets import target_in_id

if TYPE_CHECKING:
    from ..runs.recorder import RunRecorder

STORING_HOOKS = "convoprobe-storing"
"""The name under which the hooks are registered."""

_WORKER_INPUT = "convoprobe_run"
_SCENARIO_ITEM = re.compile(
    r"(?P<file>.+?(?<!\.labels)\.ya?ml)::(?P<name>(?:(?!::).)+?)(?:\[trial-(?P<trial>\d+)\])?",
    re.IGNORECASE | re.DOTALL,
)


def recorder_of(config: pytest.Config) -> RunRecorder:
    """The recorder of the session's run; made when it is first asked for."""
    if RECORDER not in config.stash:
        config.stash[RECORDER] = backend_of(config).open_recorder(
            config.rootpath,
            lambda: load_settings(config),
            run_id(config),
            command=("pytest", *map(str, config.invocation_params.args)),
            worker=getattr(config, "workerinput", {}).get("workerid", "main"),
            wanted=_is_stored(config),
        )
    return config.stash[RECORDER]


def state_of(session: pytest.Session, exit_status: int) -> RunState:
    """How the session ends, by what was selected and what was reported."""
    hooks = session.config.pluginmanager.get_plugin(STORING_HOOKS)
    assert isinstance(hooks, StoringHooks)  # noqa: S101 - they come with the first scenario
    return hooks.progress.state(session, exit_status)


def _is_stored(config: pytest.Config) -> bool:
    """Whether the run is to be stored; with settings that cannot be read, so that its errors are."""
    if config.option.convoprobe_no_results:
        return False
    try:
        return load_settings(config).settings.results.save
    except ConvoprobeError:
        return True


def names_scenario(nodeid: str) -> bool:
    """Whether it is the id of a scenario's item, as far as an id shows it."""
    return _SCENARIO_ITEM.fullmatch(nodeid) is not None


def share_run_id(node: Any) -> None:
    """Tell a worker of xdist, before it starts, to which run its trials belong."""
    node.workerinput[_WORKER_INPUT] = run_id(node.config)


def run_id(config: pytest.Config) -> str:
    """The run's id; xdist's workers have it from the process that started them."""
    if RUN_ID not in config.stash:
        given = getattr(config, "workerinput", {}).get(_WORKER_INPUT)
        config.stash[RUN_ID] = given or backend_of(config).new_run_id()
    return config.stash[RUN_ID]


def take(config: pytest.Config, load: Mapping[str, Any]) -> None:
    """Take what a report carried to the process that describes the run."""
    recorder = recorder_of(config)
    if chosen := load.get("selection"):
        recorder.selection = lambda: Selection(**chosen)
    recorder.expect((scenario, trial) for scenario, trial in json.loads(load.get("trials", "[]")))
    for decided in json.loads(load.get("decisions", "[]")):
        recorder.take_decision(Decision.from_json(decided))
    for lost in json.loads(load.get("unstored", "[]")):
        recorder.take_unstored(lost)
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
        self._deselected: list[pytest.Item] = []
        self._selection_sent = False
        self.progress = Progress()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected += items

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """What could not be collected is missing, whatever comes of the rest."""
        self.progress.collection_failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._session = session
        self.progress.collection_failed |= session.testsfailed > 0
        recorder_of(self._config).selection = self._selection

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        self.progress.select(ids)
        self.progress.has_scenarios |= any(map(names_scenario, ids))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.progress.note(report)

    def _selection(self) -> Selection | None:
        return None if self._session is None else selection_of(self._session, self._deselected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """A worker of xdist died in a scenario: without a record it would look like one that was removed."""
        recorder = recorder_of(self._config)
        # The scheduler is ours or another one.
        report.longrepr = f"{report.longrepr}{getattr(sched, 'said_of_crash', '')}"
        self.progress.lost_worker = True
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
        with errors_of_item(report):
            if (order := order_of(item)) is not None:
                _complete(order, call, report)
            if RESULTS in item.stash:
                self._carry(item, report)
        return report

    def _carry(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """What xdist's controller can't know otherwise: it collects nothing, and sees no result whole.

        As JSON, because lone surrogates can't travel to another process.
        """
        load = carried(report)
        load["trials"] = json.dumps([(one.scenario_id, one.trial) for one in item.stash[RESULTS]])
        if DECISION in item.stash:
            load["decisions"] = json.dumps([item.stash[DECISION].to_json()])
        if hasattr(item.config, "workerinput"):
            load["unstored"] = json.dumps(recorder_of(item.config).unstored())
            if not self._selection_sent and (selection := self._selection()):
                self._selection_sent, load["selection"] = True, asdict(selection)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        self._session = session
        try:
            return (yield)
        finally:
            # Once more: there may be no terminal, or the exit status has changed since the summary.
            with ignored_meanwhile(session.exitstatus == pytest.ExitCode.INTERRUPTED):
                self._finish(session.exitstatus, close=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> Generator[None, None, None]:
        for line in self._finish(exitstatus):
            terminalreporter.line(f"note: {line}", yellow=True)
        return (yield)

    def _finish(self, exit_status: int, *, close: bool = False) -> list[str]:
        if self.progress.has_scenarios:
            # Workers of xdist may have stored trials that none of them came to report.
            known = recorder_of(self._config)
            interrupted = exit_status == pytest.ExitCode.INTERRUPTED
            known.describe() if interrupted else known.begin()
        recorder = self._config.stash.get(RECORDER, None)
        if recorder is None or self._session is None:
            return []
        recorder.finish(self.progress.state(self._session, exit_status), exit_status)
        if close:
            recorder.close()
        return recorder.problems


def _complete(order: Order, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Let a report carry what the process that describes the run must know."""
    item = order.item
    recorder = recorder_of(item.config)
    if recorder.wanted and call.when == "setup" and not report.passed and not item.stash.get(RESULTS, None):
        record = backend_of(item.config).unrun_record(
            order.loaded,
            order.scenario_id,
            _reason(call, report),
            skipped=report.skipped,
            trial=order.trial,
        )
        carried(report)["unrun"] = record
        if report.failed:
            _remember(item, record)
    if recorder.problems:
        carried(report)["problems"] = recorder.problems


def _remember(item: pytest.Item, record: str) -> None:
    """A rerun counts this attempt too, though it had no conversation."""
    from ..result import with_attempts
    from ..results.records import from_record

    result, earlier = from_record(json.loads(record)).result, item.stash.setdefault(EARLIER, {})
    before = earlier.get((result.scenario_id, result.trial))
    if before is not None:
        result = with_attempts(result, before.attempts + 1, [before.spending])
    earlier[result.scenario_id, result.trial] = result


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
        target_name=target_in_id(config, str(config.rootpath / found["file"]), found["name"]),
    )


def _reason(call: pytest.CallInfo[Any], report: pytest.TestReport) -> str:
    if expected := getattr(report, "wasxfail", None):
        return str(expected)
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return call.excinfo.exconly(tryshort=True).removeprefix("Failed: ") if call.excinfo else ""
