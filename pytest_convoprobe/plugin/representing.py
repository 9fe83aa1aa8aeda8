"""Reports that come about even if an exception can't be shown: no result is lost for the sake of its text.

pytest reads the source of every frame that it shows with `ast.parse`. While one thread is in it, code of
another that does the same (or a finalizer that logs a traceback) can make it raise `SystemError: AST
constructor recursion depth mismatch` on some versions of Python, and an exception in a report ends the whole
session. The threads of conversations are full of such code: LiteLLM and agents log tracebacks. So what we
raise ourselves is shown without its source. For anything else pytest tries again, then shows a short text.

What we add to a report may fail, too: that is an error of its item, and the session goes on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from ..project_code.tracebacks import describe, short_trace
from ..result import ScenarioNotPassed
from .keys import RESULTS
from .orders import order_of

_TRIES = 3


def reported(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report that the hooks inside make, or else one of ours: to be delegated to by a wrapper."""
    raised = call.excinfo
    ours = (ScenarioNotPassed, pytest.xfail.Exception)
    if raised is not None and order_of(item) is not None and isinstance(raised.value, ours):
        call.excinfo = _without_source(raised, str(raised.value))
    try:
        return (yield)
    except Exception as problem:
        if raised is None or not _is_ours_to_mend(item, problem):
            raise
        return _mended(item, call, problem)
    finally:
        # For the hooks outside: pytest's own for `xfail(raises=...)` looks at what was really raised.
        call.excinfo = raised


@contextmanager
def errors_of_item(report: pytest.TestReport) -> Iterator[None]:
    """Make an exception an error of the item: raised by a hook, it would end the session for all others."""
    try:
        yield
    except Exception as problem:  # noqa: BLE001 - of our hooks, of masks of the project, of storing
        _make_error(report, problem)


def _make_error(report: pytest.TestReport, problem: Exception) -> None:
    """Report the problem in place of what was to be said.

    What fails in its call is a failure to everybody, and this is no verdict on the agent. So it is reported
    as an error at setup.
    """
    report.when = "teardown" if report.when == "teardown" else "setup"
    report.outcome = "failed"
    vars(report).pop("wasxfail", None)  # an expected failure would count as a skipped test
    text = f"the report on this test could not be completed: {describe(problem)}\n{short_trace(problem)}"
    failure = pytest.fail.Exception(text, pytrace=False).with_traceback(problem.__traceback__)
    report.longrepr = pytest.ExceptionInfo.from_exception(failure).getrepr(style="value")
    report.sections = []  # perhaps their secrets were not masked yet


def _is_ours_to_mend(item: pytest.Item, problem: Exception) -> bool:
    """Whether it's about a result of ours, or our threads may have caused it; pytest reports the rest."""
    return RESULTS in item.stash or order_of(item) is not None or isinstance(problem, SystemError)


def _mended(item: pytest.Item, call: pytest.CallInfo[Any], problem: Exception) -> pytest.TestReport:
    """The report once more: the collision is over in a moment. What fails again has a plain text."""
    raised = call.excinfo
    assert raised is not None  # noqa: S101 - only reports on exceptions are mended
    if isinstance(problem, SystemError):
        for _ in range(_TRIES):
            with suppress(Exception):
                return pytest.TestReport.from_item_and_call(item, call)
    plain = _without_source(raised, _plain_text(raised.value, problem))
    call.excinfo = plain
    try:
        report = pytest.TestReport.from_item_and_call(item, call)
    except Exception:  # noqa: BLE001 - `--full-trace` reads the source of everything
        report = _bare(item, call, plain)
    if (crash := getattr(report.longrepr, "reprcrash", None)) is not None:
        crash.message = describe(raised.value)  # what the short summary says
    return report


def _without_source(raised: pytest.ExceptionInfo[Any], text: str) -> pytest.ExceptionInfo[Any]:
    """A text in place of what was raised. For this kind of exception pytest reads no source."""
    failure = pytest.fail.Exception(text, pytrace=False)
    return pytest.ExceptionInfo.from_exception(failure.with_traceback(raised.tb))


def _plain_text(error: BaseException, problem: Exception) -> str:
    """What was raised, in a few lines, and why it isn't shown as usual."""
    if isinstance(error, pytest.fail.Exception):
        return str(error)
    return f"{short_trace(error)}\n(shown in short, because pytest's own report raised {describe(problem)})"


def _bare(
    item: pytest.Item, call: pytest.CallInfo[Any], plain: pytest.ExceptionInfo[Any]
) -> pytest.TestReport:
    """A report without pytest's help; it lacks what was captured, to which there is no public way."""
    assert call.when != "collect"  # noqa: S101 - it is about an item
    return pytest.TestReport(
        item.nodeid,
        item.location,
        dict.fromkeys(item.keywords, 1),
        "failed",
        plain.getrepr(style="value"),
        call.when,
        (),
        call.duration,
        call.start,
        call.stop,
        user_properties=item.user_properties,
    )
