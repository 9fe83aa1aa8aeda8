"""A plug-in for pytest that writes down how each test ended: `-p recorder`, HOST_OUTCOMES=FILE.

It imports nothing of this project, since it also runs where the project is not installed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

EXIT = "(exit status)"
"""In place of a test's id, for the exit status of the run."""

COLLECTION = " (collection)"
"""What the id of a collector has behind it that could not collect."""

_outcomes: dict[str, str] = {}


def pytest_runtest_logreport(report: Any) -> None:
    word = f"{report.when} {report.outcome}" + (" (xfail)" if hasattr(report, "wasxfail") else "")
    before = _outcomes.get(report.nodeid)
    _outcomes[report.nodeid] = f"{before}, {word}" if before else word


def pytest_collectreport(report: Any) -> None:
    if not report.passed:
        _outcomes[f"{report.nodeid}{COLLECTION}"] = str(report.outcome)


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    outcomes = {**_outcomes, EXIT: str(int(exitstatus))}
    Path(os.environ["HOST_OUTCOMES"]).write_text(json.dumps(outcomes), "utf-8")
