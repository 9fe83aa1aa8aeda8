"""Stores what a session's scenarios gave, as it comes.

The process that runs a trial writes it down; the process that the user started describes the run. Under
xdist these are several processes, which know of each other by the run's id alone.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .gathering import carried
from .keys import RESULTS, STORE

if TYPE_CHECKING:
    from ..redaction import Redactor
    from ..result import ScenarioResult
    from ..results.fingerprints import Prints
    from ..results.records import TrialRecord
    from ..results.run_info import RunInfo, RunState
    from ..results.writer import RunWriter
    from ..runs.trial import Job
    from ..settings.loading import LoadedSettings
    from .backend import RunsJobs
    from .items import ScenarioItem

_WORKER_INPUT = "convoprobe_run"
_SCENARIO_ITEM = re.compile(
    r"(?P<file>.+?\.ya?ml)::(?P<name>(?:(?!::).)+?)(?:\[trial-(?P<trial>\d+)\])?", re.IGNORECASE | re.DOTALL
)


class Store:
    """The part of the stored run that is this process's."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._lock = threading.RLock()
        self._waiting: list[TrialRecord] = []
        self._info: RunInfo | None = None
        self._written: RunInfo | None = None
        self._problems: dict[str, None] = {}
        self.lost_worker = False
        """Whether a worker of xdist died: what it had before it may never have run."""

    @cached_property
    def run_id(self) -> str:
        """The run's id; xdist's workers have it from the process that started them."""
        from ..results.provenance import new_run_id

        given = getattr(self._config, "workerinput", {}).get(_WORKER_INPUT)
        return given or new_run_id()

    @property
    def folder(self) -> Path | None:
        """Where the run is stored; None if there is nothing to store, or it isn't wanted."""
        made = "_writer" in self.__dict__ and self._writer.begun
        return self._writer.folder if made else None

    @property
    def wanted(self) -> bool:
        return not self._config.option.convoprobe_no_results

    @property
    def problems(self) -> list[str]:
        """What couldn't be stored and why, in lines for people; those of xdist's workers included."""
        own = self._writer.problem if "_writer" in self.__dict__ else None
        return list(dict.fromkeys([*self._problems, *([own] if own else [])]))

    def take_problem(self, text: str) -> None:
        """A problem that a worker had."""
        self._problems[text] = None

    def begin(self) -> None:
        """Prepare for the first trial, on the thread that may wait."""
        if self.wanted:
            self._guarded(self._prepare)

    async def run(self, runner: RunsJobs, job: Job) -> ScenarioResult:
        """Run a job and store its result at once: its item's turn may come much later, or never."""
        result = await runner.run(job)
        if self.wanted:
            self._guarded(lambda: self._add(result, _prints_of(job, self._redactor)))
        return result

    def reported(self) -> None:
        """A trial was reported: this process has stored it, or a worker has."""
        self.begin()
        self._guarded(self._describe_once)

    def unrun(self, record: str) -> None:
        """A scenario was skipped, or broke before there was a conversation. `record` is JSON.

        A skipped one alone makes no run: it waits for one that ran.
        """
        from ..results.records import from_record

        trial = from_record(json.loads(record))
        self._waiting.append(trial)
        if trial.result.outcome.value != "skipped":
            self.begin()
        elif self._written is None:
            return
        self._guarded(self._flush)

    def finish(self, session: pytest.Session, exit_status: int) -> None:
        """The run is over."""
        if self.wanted and not self._is_worker:
            self._guarded(lambda: self._end(session, exit_status))

    def close(self) -> None:
        """Let go of the files."""
        if "_writer" in self.__dict__:
            self._writer.close()

    @cached_property
    def _writer(self) -> RunWriter:
        from ..results.writer import RunWriter

        folder = self._config.rootpath / self._settings.settings.results.dir
        worker = getattr(self._config, "workerinput", {}).get("workerid", "main")
        return RunWriter(folder, self.run_id, worker=worker, redactor=self._redactor)

    @cached_property
    def _settings(self) -> LoadedSettings:
        from .session import load_settings

        return load_settings(self._config)

    @cached_property
    def _redactor(self) -> Redactor:
        from ..redaction import Redactor

        return Redactor(self._settings.secrets)

    @property
    def _is_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    def _guarded(self, act: Callable[[], None]) -> None:
        """Evidence is worth less than a verdict: whatever keeps it from being stored is told, not raised."""
        with self._lock:
            try:
                act()
            except Exception as error:  # noqa: BLE001
                self._problems[f"this run is not stored whole: {type(error).__name__}: {error}"] = None

    def _prepare(self) -> None:
        """Make the writer, and look around once: git may take its time."""
        from ..results.describe_run import describe_run

        if self._info is None and self._writer and not self._is_worker:
            words = ("pytest", *map(str, self._config.invocation_params.args))
            self._info = describe_run(
                self.run_id, self._settings, command=words, folder=self._config.rootpath
            )

    def _add(self, result: ScenarioResult, prints: Prints) -> None:
        self._writer.add(replace(result, file=self._relative(result.file)), prints)
        self._describe_once()

    def _describe_once(self) -> None:
        """Describe the run as soon as there is something to describe."""
        if self._info is not None and self._written is None:
            self._written = self._info
            self._writer.write_info(self._info)
        if not self._is_worker:
            self._flush()

    def _flush(self) -> None:
        """Write down what had no conversation."""
        while self._waiting:
            trial = self._waiting.pop(0)
            self._add(trial.result, trial.prints)

    def _relative(self, file: str) -> str:
        """The file as seen from the rootdir: a run can be read elsewhere, and names nobody's home folder."""
        try:
            return Path(os.path.relpath(file, self._config.rootpath)).as_posix() if file else file
        except ValueError:  # another drive, on Windows
            return file

    def _end(self, session: pytest.Session, exit_status: int) -> None:
        from ..results.describe_run import with_listed_prices
        from ..results.reading import open_run
        from ..results.run_info import RunState

        if self._info is None or not self._writer.begun:
            return
        if self._written and self._written.exit_status == exit_status:
            return
        self._describe_once()
        counts = open_run(self._writer.folder).counts
        state = RunState.INTERRUPTED if self.lost_worker else _state(session, exit_status)
        info = with_listed_prices(self._info, self._settings)
        self._written = replace(info, state=state, ended=time.time(), exit_status=exit_status, counts=counts)
        self._writer.write_info(self._written)


def store_of(config: pytest.Config) -> Store:
    """The session's store; made when it is first asked for."""
    if STORE not in config.stash:
        config.stash[STORE] = Store(config)
    return config.stash[STORE]


def share_run_id(node: Any) -> None:
    """Tell a worker of xdist, before it starts, to which run its trials belong."""
    node.workerinput[_WORKER_INPUT] = store_of(node.config).run_id


def take(config: pytest.Config, carried: Mapping[str, Any]) -> None:
    """Take what a report carried to the process that describes the run."""
    store = store_of(config)
    if record := carried.get("unrun"):
        store.unrun(record)
    if "digests" in carried:
        store.reported()
    for problem in carried.get("problems", ()):
        store.take_problem(problem)


def _state(session: pytest.Session, exit_status: int) -> RunState:
    from ..results.run_info import RunState

    maxfail = session.config.getoption("maxfail", 0)
    if maxfail and session.testsfailed >= maxfail:
        return RunState.STOPPED
    if exit_status == pytest.ExitCode.INTERRUPTED:
        return RunState.INTERRUPTED
    return RunState.STOPPED if session.shouldstop or session.shouldfail else RunState.FINISHED


class Storing:
    """The hooks by which the store learns of the session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._session: pytest.Session | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """A worker of xdist died in a scenario: without a record it would look like one that was removed."""
        store = store_of(self._config)
        store.lost_worker = True
        if store.wanted and (record := _crashed(self._config, crashitem, report)):
            store.unrun(record)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        _look_around(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        _complete(item, call, report)
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
        store = self._config.stash.get(STORE, None)
        if store is None or self._session is None:
            return []
        store.finish(self._session, exit_status)
        if close:
            store.close()
        return store.problems


def _look_around(item: pytest.Item) -> None:
    """Here, since what an item's own phases do counts as its duration."""
    from .items import ScenarioItem

    if isinstance(item, ScenarioItem) and not any(item.iter_markers("skip")):
        store_of(item.config).begin()


def _complete(item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Let a report carry what the process that describes the run must know."""
    from .items import ScenarioItem

    if not isinstance(item, ScenarioItem):
        return
    store = store_of(item.config)
    if store.wanted and call.when == "setup" and not report.passed and not item.stash.get(RESULTS, None):
        carried(report)["unrun"] = _unrun(item, call, report)
    if store.problems:
        carried(report)["problems"] = store.problems


def _unrun(item: ScenarioItem, call: pytest.CallInfo[Any], report: pytest.TestReport) -> str:
    """The record of a scenario that met no target, as JSON, which travels whatever is in its texts."""
    from ..errors import Blame
    from ..result import Outcome, ScenarioResult
    from ..results.fingerprints import NO_PRINTS
    from ..results.records import to_record

    loaded = item.loaded
    result = ScenarioResult(
        name=loaded.name,
        scenario_id=item.order.scenario_id,
        file=loaded.file,
        line=loaded.line,
        outcome=Outcome.SKIPPED if report.skipped else Outcome.ERROR,
        reason=_reason(call, report),
        blame=None if report.skipped else Blame.INFRASTRUCTURE,
        trial=item.trial,
        started=time.time(),
        tags=loaded.tags,
    )
    return json.dumps(to_record(result, NO_PRINTS))


def _crashed(config: pytest.Config, nodeid: str, report: pytest.TestReport) -> str | None:
    """The record of a scenario whose worker died, as JSON. Its id is all that is known of it here."""
    from ..errors import Blame
    from ..result import Outcome, ScenarioResult
    from ..results.fingerprints import NO_PRINTS
    from ..results.records import to_record

    found = _SCENARIO_ITEM.fullmatch(nodeid)
    if found is None:
        return None
    result = ScenarioResult(
        name=found["name"],
        scenario_id=f"{found['file']}::{found['name']}",
        file=str(config.rootpath / found["file"]),
        line=1,
        outcome=Outcome.ERROR,
        reason=str(report.longrepr),
        blame=Blame.INFRASTRUCTURE,
        trial=int(found["trial"] or 1),
        started=time.time(),
    )
    return json.dumps(to_record(result, NO_PRINTS))


def _reason(call: pytest.CallInfo[Any], report: pytest.TestReport) -> str:
    if expected := getattr(report, "wasxfail", None):
        return str(expected)
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return call.excinfo.exconly(tryshort=True).removeprefix("Failed: ") if call.excinfo else ""


def _prints_of(job: Job, redactor: Redactor) -> Prints:
    from ..results.fingerprints import take_prints
    from ..targets.port import description_of

    return take_prints(job.loaded.scenario, job.settings, description_of(job.target), redactor)
