"""Rows and runs for the tests of what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.store import IndexRow, RunWriter

RUN = "20261127T221500Z-ab12cd"
PRINTS = Prints("aaaa", "bbbb")


def writer(folder: Path, run: str = RUN, worker: str = "main", *secrets: str) -> RunWriter:
    return RunWriter(folder, run, worker=worker, redactor=Redactor(secrets, environ={}))


def trial(name: str = "greeting", outcome: Outcome = Outcome.PASSED, **values: Any) -> ScenarioResult:
    """A small result; more than that is in tests/reports/results.py."""
    known = {"file": "scenarios/all.yaml", "line": 1, "started": 100.0, "duration": 2.0}
    return ScenarioResult(
        name=name, scenario_id=f"scenarios/all.yaml::{name}", outcome=outcome, **{**known, **values}
    )


def row(name: str = "a", passed: bool | None = True, run: int = 1, **values: Any) -> IndexRow:
    """A row of the run of that number; None for `passed` is an error of the infrastructure."""
    outcome = {True: Outcome.PASSED, False: Outcome.FAILED, None: Outcome.ERROR}[passed]
    known: dict[str, Any] = {
        "outcome": outcome,
        "worker": "main",
        "offset": 0,
        "length": 0,
        "name": name,
        "file": "s.yaml",
        "line": 1,
        "trial": 1,
        "blame": {True: None, False: Blame.AGENT, None: Blame.INFRASTRUCTURE}[passed],
        "score": {True: 1.0, False: 0.0, None: None}[passed],
        "cost": 0.01,
        "latency": 1.0,
        "prints": PRINTS,
    }
    return IndexRow(run=f"run{run:03}", scenario_id=f"s.yaml::{name}", **{**known, **values})
