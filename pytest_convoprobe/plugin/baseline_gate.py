"""A run compared with an earlier one: in the summary, and as a gate on the exit status."""

from __future__ import annotations

import shutil
from typing import cast

import pytest

from ..errors import ConvoprobeError
from ..reports.comparison import Names, comparison_text, run_name, run_notes
from ..results.baselines import Baseline, Baselines, find_baselines
from ..results.compare import Comparison, FailOn, compare_runs
from ..results.pasts import names_file, pasts_of
from ..results.run_info import RunState
from ..results.store import StoredRun
from . import gating, options
from .file_names import is_for_other_runs
from .keys import GATHERED, start
from .session import load_settings
from .storing import recorder_of, run_id, state_of
from .terminal import writes_unicode

BASELINE = "--convoprobe-baseline"
FAIL_ON = "--convoprobe-fail-on"
_DEFAULT = "regression"
_NOTHING_RUNS = "collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test"


class BaselineGate:
    """The hooks of a run that has a baseline; it is registered in no other run, and in no xdist worker."""

    def __init__(self, config: pytest.Config, named: str) -> None:
        self._config = config
        self._named = named
        self._fail_on = cast(FailOn, options.value_of(config, "fail_on") or _DEFAULT)
        self._decides = True
        """Whether changes of trials close the gate; not where a policy decides about scenarios."""
        self._baselines: Baselines | None = None
        self._baseline: Baseline | None = None
        self._head: StoredRun | None = None
        self._comparison: Comparison | None = None
        self._problem = ""

    @property
    def base(self) -> StoredRun | None:
        """The run that this one is compared with, once the session has begun."""
        return self._baseline.run if self._baseline else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was passed over for the baseline."""
        return self._baseline.notes if self._baseline else ()

    @property
    def fail_on(self) -> FailOn:
        """What closes the gate; `none` where a policy decides about scenarios."""
        return self._fail_on if self._decides else "none"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Find the baseline before anything is spent; `latest` must not come to mean this run."""
        if any(self._config.getoption(name, False) for name in _NOTHING_RUNS):
            return
        try:
            results = load_settings(self._config).settings.results
            self._leave_to_policy()
            if not results.save:
                raise pytest.UsageError(f"{BASELINE} compares stored runs, and results.save is false")
            self._baselines = find_baselines(self._config.rootpath / results.dir, self._named)
            self._baseline = self._baselines.choose()
        except ConvoprobeError as error:
            if not self._decides and self._has_past():
                return  # the policy has what it needs, and only the list of changes is missing
            if not is_for_other_runs(self._config, "baseline"):
                raise pytest.UsageError(f"{BASELINE}: {error}") from None
            self._problem = str(error)  # the tests may run scenarios of their own

    def _has_past(self) -> bool:
        """Whether runs of earlier commits say how the scenarios did, where the named one has none."""
        folder = self._config.rootpath / load_settings(self._config).settings.results.dir
        try:
            found = pasts_of(self._config.rootpath, folder, self._named, before=run_id(self._config))
        except ConvoprobeError:
            return False
        return bool(found.talks)

    def _leave_to_policy(self) -> None:
        """Only show the changes where a policy decides. Raises `pytest.UsageError` if both were asked for."""
        policy = load_settings(self._config).settings.gate.policy
        if policy in ("paired", "confirm") and options.compares_raw(self._config):
            raise pytest.UsageError(options.raw_gate_words(self._config, policy))
        self._decides = gating.chosen(self._config, "") == "each"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare, and close the gate: a run that could not be compared does not pass it either."""
        if not self._is_asked():
            return
        if self._baseline is not None:
            self._compare(session)
        closed = self._comparison is None or self._comparison.fails(self.fail_on)
        # "No tests collected" too: CI often takes that for fine.
        fine = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if closed and self._fail_on != "none" and fine:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._is_asked():
            return
        terminalreporter.section("convoprobe: compared with a baseline")
        for line in self._lines():
            terminalreporter.line(line)

    def _is_asked(self) -> bool:
        """Whether there is to be a comparison."""
        if self._baseline is None:
            return bool(self._problem) and GATHERED in self._config.stash
        return GATHERED in self._config.stash or not is_for_other_runs(self._config, "baseline")

    def _compare(self, session: pytest.Session) -> None:
        """By what this process knows: the disk may have refused what the terminal shows."""
        if GATHERED not in self._config.stash:
            self._problem = "no scenario ran: is the folder of scenarios still where it was?"
            return
        self._head = recorder_of(self._config).known_run()
        if self._head is None or self._baselines is None:
            self._problem = "nothing of this run was stored"
            return
        try:
            # Only now it is known which scenarios the baseline should know.
            self._baseline = self._baselines.choose({row.scenario_id for row in self._head.rows()})
            ended = state_of(session, session.exitstatus) is RunState.FINISHED
            self._comparison = compare_runs(self._baseline.run, self._head, ended=ended)
        except (ConvoprobeError, OSError) as error:
            self._problem = str(error)

    def _lines(self) -> list[str]:
        baseline, closed = self._baseline, "closed" if self._fail_on != "none" else "none asked for"
        if baseline is None or self._comparison is None or self._head is None:
            name = baseline.run.id if baseline else self._named
            return [f"no comparison with {name}: {self._problem}", f"gate ({self._fail_on}): {closed}"]
        base = baseline.run
        text = comparison_text(
            self._comparison,
            Names(run_name(base.info), "this run"),
            self.fail_on,
            width=shutil.get_terminal_size().columns,
            ascii_only=not writes_unicode(),
        )
        notes = [*baseline.notes, *run_notes(self._comparison, base.info), *base.notes, *self._head.notes]
        return [*self._with_who_decides(text.splitlines()), *(f"note: {note}" for note in notes)]

    def _with_who_decides(self, lines: list[str]) -> list[str]:
        if self._decides or self._fail_on == "none":
            return lines
        return [*lines[:-1], "these changes decide nothing: the gate decides about each scenario"]


def configure(config: pytest.Config) -> None:
    """Register the hooks if there is a baseline. Raises `pytest.UsageError` for options that contradict."""
    named = options.value_of(config, "baseline")
    if named is None:
        # In the ini file it is for the runs that have a baseline.
        if config.getoption(FAIL_ON) is not None:
            raise pytest.UsageError(f"{FAIL_ON} needs {BASELINE}: there is nothing to compare with")
        return
    if names_file(config.rootpath, named):
        return _check_file(config, named)
    if config.option.convoprobe_no_results:
        raise pytest.UsageError(
            f"{BASELINE} compares stored runs; leave out --convoprobe-no-results, or add `{BASELINE}=` to "
            "compare with none"
        )
    if not hasattr(config, "workerinput"):
        start(config)  # first, so that the run is stored by the time that its end comes here
        config.pluginmanager.register(BaselineGate(config, named), "convoprobe-baseline")


def _check_file(config: pytest.Config, named: str) -> None:
    """A file has pasts and no trials: the policies use it, and there is nothing to list as changed."""
    if options.compares_raw(config):
        raise pytest.UsageError(
            f"{FAIL_ON} compares stored runs, and {BASELINE} names the file {named}; leave out {FAIL_ON}, or "
            "name a run"
        )
    try:
        pasts_of(config.rootpath, None, named)
    except ConvoprobeError as error:
        raise pytest.UsageError(f"{BASELINE}: {error}") from None
