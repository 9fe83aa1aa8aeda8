"""A run compared with an earlier one: in the summary, and as a gate on the exit status."""

from __future__ import annotations

import shutil
from typing import cast

import pytest

from ..errors import ConvoprobeError
from ..reports.comparison import Names, comparison_text, run_name, unfinished_note
from ..results.compare import Comparison, FailOn, compare
from ..results.store import StoredRun, open_run, resolve_run
from .keys import GATHERED, start
from .session import load_settings
from .storing import recorder_of
from .terminal import writes_unicode

BASELINE = "--convoprobe-baseline"
FAIL_ON = "--convoprobe-fail-on"
_DEFAULT = "regression"


class BaselineGate:
    """The hooks of a run that has a baseline; it is registered in no other run, and in no xdist worker."""

    def __init__(self, config: pytest.Config, named: str) -> None:
        self._config = config
        self._named = named
        self._fail_on = cast(FailOn, config.getoption(FAIL_ON) or _DEFAULT)
        self._base: StoredRun | None = None
        self._head: StoredRun | None = None
        self._comparison: Comparison | None = None

    @property
    def base(self) -> StoredRun | None:
        """The run that this one is compared with, once the session has begun."""
        return self._base

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Find the baseline before anything is spent; `latest` must not come to mean this run."""
        if self._config.option.collectonly:
            return
        try:
            folder = self._config.rootpath / load_settings(self._config).settings.results.dir
            self._base = open_run(resolve_run(folder, self._named).path)
        except ConvoprobeError as error:
            raise pytest.UsageError(f"{BASELINE}: {error}") from None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare, and close the gate: a run that could not be compared does not pass it either."""
        if self._base is None or GATHERED not in self._config.stash:
            return  # no scenario ran
        self._compare(self._base, ended=not (session.shouldstop or session.shouldfail))
        closed = self._comparison is None or self._comparison.fails(self._fail_on)
        if closed and self._fail_on != "none" and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._base is None or GATHERED not in self._config.stash:
            return
        terminalreporter.section("convoprobe: compared with a baseline")
        for line in self._lines(self._base):
            terminalreporter.line(line)

    def _compare(self, base: StoredRun, *, ended: bool) -> None:
        folder = recorder_of(self._config).folder
        if folder is None:
            return
        try:
            self._head = open_run(folder)
            self._comparison = compare(base.rows(), self._head.rows(), head_ended=ended)
        except (ConvoprobeError, OSError):
            self._comparison = None

    def _lines(self, base: StoredRun) -> list[str]:
        if self._comparison is None or self._head is None:
            return [f"no comparison with {base.id}: nothing of this run was stored (gate: {self._fail_on})"]
        text = comparison_text(
            self._comparison,
            Names(run_name(base.info), "this run"),
            self._fail_on,
            width=shutil.get_terminal_size().columns,
            ascii_only=not writes_unicode(),
        )
        note = unfinished_note(base.info)
        return [*text.splitlines(), *([note] if note else [])]


def configure(config: pytest.Config) -> None:
    """Register the hooks if there is a baseline. Raises `pytest.UsageError` for options that contradict."""
    named = config.getoption(BASELINE)
    if named is None:
        if config.getoption(FAIL_ON) is not None:
            raise pytest.UsageError(f"{FAIL_ON} needs {BASELINE}: there is nothing to compare with")
        return
    if config.option.convoprobe_no_results:
        raise pytest.UsageError(f"{BASELINE} compares stored runs; leave out --convoprobe-no-results")
    if not hasattr(config, "workerinput"):
        start(config)  # first, so that the run is stored by the time that its end comes here
        config.pluginmanager.register(BaselineGate(config, named), "convoprobe-baseline")
