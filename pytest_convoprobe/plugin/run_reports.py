"""The reports on a whole run that a session leaves: an HTML page, GitHub's job summary, annotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Set
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..errors import ConvoprobeError
from ..files import shown_path
from . import options
from .keys import GATHERED
from .option_table import HTML
from .storing import recorder_of

if TYPE_CHECKING:
    from ..reports.run_report import RunReport
    from ..reports.summary import Digest

_ANNOTATOR = "annotate_errors"
"""The name under which pytest-github-actions-annotate-failures registers its hooks."""


class RunReports:
    """The hooks of a session that is to leave reports; registered in no other, and in no xdist worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._annotated: set[str] = set()
        # No properties here: pytest 8.2 reads those of a plug-in at the start, when nothing has run.
        self._reports = _Reports(config, self._annotated)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """pytest-github-actions-annotate-failures annotates what fails in its call, whatever test it is."""
        if report.when == "call" and report.failed and self._config.pluginmanager.hasplugin(_ANNOTATOR):
            self._annotated.add(report.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Where there is no terminal, the reports are written all the same."""
        try:
            return (yield)
        finally:
            if GATHERED in self._config.stash:
                _ = self._reports.written

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if GATHERED not in self._config.stash:
            return  # no scenario ran
        for line in [*self._reports.written, *self._reports.annotations()]:
            terminalreporter.line(line)


class _Reports:
    """What is written, each report once. `annotated` are the node ids of what others annotate."""

    def __init__(self, config: pytest.Config, annotated: Set[str]) -> None:
        self._config = config
        self._annotated = annotated

    @cached_property
    def written(self) -> tuple[str, ...]:
        """Write the files, once; the lines say where they are, or why they are not there."""
        return tuple(self._write())

    def _write(self) -> Iterator[str]:
        path = options.path_of(self._config, "html")
        if path:
            yield self._guarded(f"report: {shown_path(path)}", lambda report: self._write_html(report, path))
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            said = self._guarded("", lambda report: _append_summary(report, Path(summary)))
            yield from [said] if said else []

    def _guarded(self, done: str, write: Callable[[RunReport], None]) -> str:
        """A report is worth less than a verdict: what keeps it from being written is reported, not raised."""
        try:
            if self._report is None:
                return "no report was written: nothing of this run is stored"
            write(self._report)
        except (ConvoprobeError, OSError) as error:
            return f"a report could not be written: {error}"
        return done

    @cached_property
    def _report(self) -> RunReport | None:
        """The stored run with what came before it; None if nothing was stored. Raises `ResultsError`."""
        from ..reports.run_report import read_report
        from ..results.store import list_runs

        run = recorder_of(self._config).known_run()
        if run is None:
            return None
        gate = self._config.pluginmanager.get_plugin("convoprobe-baseline")
        earlier = list_runs(run.path.parents[1])
        if gate is None:
            return read_report(run, earlier)
        return read_report(run, earlier, gate.base, fail_on=gate.fail_on, notes=gate.notes)

    def _write_html(self, report: RunReport, path: Path) -> None:
        from ..reports.html import write_html

        write_html(report, path)

    def annotations(self) -> list[str]:
        if not options.on_github():
            return []
        from ..reports.annotations import commands

        theirs = self._digests_annotated_by_others()
        ours = [one for one in self._digests() if (one.scenario_id, one.trial) not in theirs]
        return commands(ours, folder=self._config.rootpath, environ=os.environ)

    def _digests_annotated_by_others(self) -> set[tuple[str, int]]:
        gathered = self._config.stash[GATHERED].items()
        theirs = [lists for (nodeid, _), lists in gathered if nodeid in self._annotated]
        return {(one.scenario_id, one.trial) for lists in theirs for digests in lists for one in digests}

    def _digests(self) -> list[Digest]:
        """Of the stored run, which also knows what broke before it began; else of what was reported."""
        from ..reports.summary import Digest
        from .terminal_summary import digests

        try:
            report = self._report
        except (ConvoprobeError, OSError):
            report = None
        if report is None:
            return digests(self._config)
        # What failed as often as before is no error at a line of the change.
        return [Digest.of(result) for result in report.results if not report.is_excused(result)]


def configure(config: pytest.Config) -> None:
    """Register the hooks. Raises `pytest.UsageError` for options that contradict."""
    if options.value_of(config, "html") and config.option.convoprobe_no_results:
        raise pytest.UsageError(
            f"{HTML} shows the stored run; leave out --convoprobe-no-results, or add `{HTML}=` to write none"
        )
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RunReports(config), "convoprobe-reports")


def _append_summary(report: RunReport, path: Path) -> None:
    """Add to the summary of the job's step, which other commands of the step may have begun."""
    from ..reports.markdown import SUMMARY_LIMIT, markdown

    used = path.stat().st_size if path.exists() else 0
    text = markdown(report, SUMMARY_LIMIT - used)
    if used + len(text.encode("utf-8")) <= SUMMARY_LIMIT:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
