"""How results appear in pytest's reports: the text, the place, the durations, the summary."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..result import Outcome, ScenarioNotPassed
from . import options
from .error_text import advice
from .gathering import carried
from .items import ScenarioItem
from .keys import REPORTED, RESULTS, WAITED
from .session import backend_of

if TYPE_CHECKING:
    from ..result import ScenarioResult

SECTION = "convoprobe"


def complete(item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Add to a report what pytest can't know of scenarios."""
    results = item.stash[RESULTS]
    fresh = results[item.stash.get(REPORTED, 0) :]
    item.stash[REPORTED] = len(results)
    if fresh:
        carried(report)["digests"] = backend_of(item.config).pack(fresh)
    if isinstance(item, ScenarioItem):
        _complete_scenario(item, call, report, fresh)
    elif report.failed and call.when == "call":
        _add_texts(item, report, results)


def _complete_scenario(
    item: ScenarioItem, call: pytest.CallInfo[Any], report: pytest.TestReport, fresh: list[ScenarioResult]
) -> None:
    if fresh:
        report.duration = max(0.0, call.duration - item.stash.get(WAITED, 0.0)) + fresh[-1].duration
    if report.skipped and isinstance(report.longrepr, tuple):
        report.longrepr = (os.fspath(item.path), item.loaded.line, report.longrepr[2])
    error = call.excinfo.value if call.excinfo else None
    if call.excinfo and isinstance(error, ScenarioNotPassed) and not report.passed:
        report.longrepr = _verdict(item, call.excinfo, error.result)


def _verdict(item: ScenarioItem, excinfo: pytest.ExceptionInfo[Any], result: ScenarioResult) -> Any:
    """The text of a verdict in place of a traceback.

    It is pytest's own object for an exception without a traceback, with other contents, so that it
    travels through xdist, and `--tb=line`, JUnit and the short summary find what they look for.
    """
    shown = excinfo.getrepr(style="value")
    headline = backend_of(item.config).headline(result)
    shown.reprtraceback.reprentries[-1].lines = _lines(item, result, headline)
    crash = shown.reprcrash
    if crash is not None:
        crash.path, crash.lineno = _relative(item.path, item.config.rootpath), item.loaded.line
        crash.message = headline
    return shown


def _lines(item: ScenarioItem, result: ScenarioResult, headline: str) -> list[str]:
    """The whole text; under `--tb=line` one line, which pytest itself writes for what failed."""
    if item.config.getoption("tbstyle", "auto") != "line":
        return failure_text(item, result).splitlines()
    return [] if result.outcome is Outcome.FAILED else [f"{item.nodeid}: {headline}"]


def _add_texts(item: pytest.Item, report: pytest.TestReport, results: list[ScenarioResult]) -> None:
    """An ordinary test failed that ran scenarios: show those that didn't pass."""
    for result in results:
        if result.outcome in (Outcome.FAILED, Outcome.ERROR):
            report.sections.append((f"{SECTION}: {result.name}", failure_text(item, result)))


def failure_text(item: pytest.Item, result: ScenarioResult) -> str:
    """The whole text about a result, for the terminal at hand."""
    return backend_of(item.config).failure_text(
        result,
        verbosity=item.config.get_verbosity(),
        width=shutil.get_terminal_size().columns,
        rerun_command=rerun_command(item),
        advice=advice(result.remedies),
        ascii_only=not _writes_unicode(),
    )


def rerun_command(item: pytest.Item) -> str:
    """The command that runs this item again, from the folder where pytest was started.

    Just this one, unless the terminal can't hold its name: then perhaps others that are named alike.
    """
    from ..reports.paste_command import pytest_words

    path, _, name = item.nodeid.partition("::")
    here = item.config.invocation_params.dir
    words = pytest_words(_relative(item.config.rootpath / path, here), name, _encoding())
    words += options.deciding_words(item.config)
    if isinstance(item, ScenarioItem) and item.trial > 1:
        words.append(f"--convoprobe-trials={options.trials(item.config)}")
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive, on Windows
        return path.as_posix()


def _encoding() -> str:
    """The terminal's. Inside an xdist worker stdout is not the terminal, but has its encoding."""
    return getattr(sys.__stdout__, "encoding", None) or "utf-8"


def _writes_unicode() -> bool:
    """Whether the terminal can show the marks of a verdict."""
    try:
        "✓✗…".encode(_encoding())
    except (UnicodeEncodeError, LookupError):
        return False
    return True
