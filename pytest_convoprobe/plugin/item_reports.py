"""How results appear in pytest's report on one item: the text, the place, the duration."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import Any

import pytest

from ..files import relative_name
from ..project_code.tracebacks import describe
from ..reports.failure import headline, render_failure
from ..reports.paste_command import fitting_words, pytest_words
from ..reports.summary import Digest
from ..result import Outcome, ScenarioNotPassed, ScenarioResult
from . import options
from .carried import carried
from .error_text import advice
from .headings import named_with_blame
from .keys import REPORTED, RESULTS, WAITED
from .orders import Order, order_of
from .terminal import encoding, writes_unicode

SECTION = "convoprobe"


def complete(item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Add to a report what pytest can't know of scenarios."""
    results = item.stash[RESULTS]
    fresh = results[item.stash.get(REPORTED, 0) :]
    item.stash[REPORTED] = len(results)
    if fresh:
        carried(report)["digests"] = [Digest.of(result).to_json() for result in fresh]
    if (order := order_of(item)) is not None:
        _complete_scenario(order, call, report, fresh)
    elif report.failed and call.when == "call":
        _add_texts(item, report, results)


def _complete_scenario(
    order: Order, call: pytest.CallInfo[Any], report: pytest.TestReport, fresh: list[ScenarioResult]
) -> None:
    item = order.item
    if fresh:
        _set_times(report, call.start, max(0.0, call.duration - item.stash.get(WAITED, 0.0)))
    if results := item.stash[RESULTS]:
        _add_talks(report, results)
    if report.skipped and isinstance(report.longrepr, tuple):
        report.longrepr = (os.fspath(item.path), order.loaded.line, report.longrepr[2])
    error = call.excinfo.value if call.excinfo else None
    if call.excinfo and isinstance(error, ScenarioNotPassed) and not report.passed:
        report.longrepr = _verdict(order, call.excinfo, error.result, error.decision)
    elif call.excinfo and isinstance(error, pytest.xfail.Exception) and results:
        # What failed as expected; pytest makes an expected failure of it after this.
        report.longrepr = _verdict(order, call.excinfo, _failed_one(results), str(error))


def _failed_one(results: list[ScenarioResult]) -> ScenarioResult:
    return next((one for one in results if one.outcome is Outcome.FAILED), results[-1])


def _add_talks(report: pytest.TestReport, results: list[ScenarioResult]) -> None:
    """Count the time of the conversations as that of the item's call, where people and programs look for it.

    They ran before that phase, perhaps in the turn of another item. An error ends the item in its setup.
    """
    if report.when == "call" or (report.when == "setup" and not report.passed):
        began = min((one.started for one in results if one.started), default=report.start)
        _set_times(report, began, report.duration + sum(one.duration for one in results))


def _set_times(report: pytest.TestReport, start: float, duration: float) -> None:
    report.start, report.stop, report.duration = start, start + duration, duration


def _verdict(
    order: Order, excinfo: pytest.ExceptionInfo[Any], result: ScenarioResult, decision: str = ""
) -> Any:
    """The text of a verdict in place of a traceback; `decision` is the sentence of the gate, if there is one.

    It is pytest's own object for an exception without a traceback, with other contents, so that it
    travels through xdist, and `--tb=line`, JUnit and the short summary find what they look for. Its
    attributes aren't public, but nothing public has a text and a place. In this style pytest reads no source.
    """
    shown = excinfo.getrepr(style="value")
    item, crash = order.item, shown.reprcrash
    shown.reprtraceback.reprentries[-1].lines = _lines(item, result, decision)
    if crash is not None:
        crash.path, crash.lineno = relative_name(item.path, item.config.rootpath), order.loaded.line
        crash.message = _headline(result, decision)
    return shown


def _headline(result: ScenarioResult, decision: str) -> str:
    return f"{headline(result)} ({decision})" if decision else headline(result)


def _lines(item: pytest.Item, result: ScenarioResult, decision: str) -> list[str]:
    """The whole text; under `--tb=line` one line, which pytest itself writes for what failed."""
    if item.config.getoption("tbstyle", "auto") != "line":
        text = failure_text(item, result).splitlines()
        return [f"gate: {decision}. One of the conversations:", *text] if decision else text
    return [] if result.outcome is Outcome.FAILED else [f"{item.nodeid}: {_headline(result, decision)}"]


def _add_texts(item: pytest.Item, report: pytest.TestReport, results: list[ScenarioResult]) -> None:
    """An ordinary test failed that ran scenarios: show those that didn't pass."""
    for result in results:
        if result.outcome in (Outcome.FAILED, Outcome.ERROR):
            title = named_with_blame(f"{SECTION}: {result.name}", result.blame)
            report.sections.append((title, failure_text(item, result)))


def failure_text(item: pytest.Item, result: ScenarioResult) -> str:
    """The whole text about a result, for the terminal at hand."""
    try:
        return _rendered(item, result)
    except Exception as error:  # noqa: BLE001 - a mistake of ours there must not lose the verdict
        return f"{headline(result)}\n(the full report could not be written: {describe(error)})"


def _rendered(item: pytest.Item, result: ScenarioResult) -> str:
    return render_failure(
        result,
        verbosity=item.config.get_verbosity(),
        width=shutil.get_terminal_size().columns,
        rerun_command=rerun_command(item, result),
        advice=advice(result.remedies),
        ascii_only=not writes_unicode(),
    )


def rerun_command(item: pytest.Item, result: ScenarioResult | None = None) -> str:
    """The command that runs this item again, from the folder where pytest was started.

    `result` is what came of it: one that doesn't fit its recording is recorded again. It is just this item,
    unless the terminal can't hold its name: then perhaps others that are named alike.
    """
    path, _, name = item.nodeid.partition("::")
    here = item.config.invocation_params.dir
    words = pytest_words(relative_name(item.config.rootpath / path, here), name, encoding())
    words += options.deciding_words(item.config)
    order = order_of(item)
    if order is not None and order.trial > 1:
        words.append(f"--convoprobe-trials={options.trials(item.config)}")
    if result is not None:
        words = fitting_words(words, result)
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
