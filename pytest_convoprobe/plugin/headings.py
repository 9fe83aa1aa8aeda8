"""The headings of pytest's section of errors and failures: they say who is to blame."""

from __future__ import annotations

import pytest

from ..errors import Blame, ConvoprobeError
from ..result import ScenarioNotPassed


def name_blame(config: pytest.Config, report: pytest.TestReport, error: BaseException) -> None:
    """Let the heading of a report be `ERROR at setup of Refund: blame judge, not the agent`.

    pytest takes the heading from the last part of a report's location, which is a text for people. Under `-v`
    it also writes a line that depends on it: names with a dot would come twice there, so they keep theirs.
    """
    blame = _blame_of(error)
    path, line, name = report.location
    written = "." in name and config.get_verbosity() > 0
    if isinstance(blame, Blame) and not written:
        report.location = path, line, named_with_blame(name, blame)


def _blame_of(error: BaseException) -> object:
    if isinstance(error, ScenarioNotPassed):
        return error.result.blame
    if isinstance(error, ConvoprobeError):
        return error.blame
    # Only there it may be noted: to read an attribute of somebody else's class may run their code.
    return vars(error).get("blame") if isinstance(error, pytest.fail.Exception) else None


def named_with_blame(name: str, blame: Blame | None) -> str:
    """The name as it is where the agent is to blame, which is what a reader expects of a failure."""
    return name if blame in (None, Blame.AGENT) else f"{name}: blame {blame.value}, not the agent"
