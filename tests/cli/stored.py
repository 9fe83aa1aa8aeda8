"""Stored runs for the tests of the commands, written as a run writes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.store import Git, RunInfo, RunState, RunWriter, count, open_run
from tests.reports.results import MET, NOT_MET, result

PRINTS = Prints("a" * 16, "b" * 16)
START = 1_790_000_000.0


def passed(name: str, **values: Any) -> ScenarioResult:
    """A passed trial of a scenario in a file of its own."""
    return _trial(values.pop("outcome", Outcome.PASSED), name, {"criteria": (MET,), "score": 1.0, **values})


def failed(name: str, **values: Any) -> ScenarioResult:
    """A failed one."""
    known = {"criteria": (MET, NOT_MET), "score": 0.5, "reason": "The agent tells the wind", "blame": "agent"}
    return _trial(Outcome.FAILED, name, {**known, **values})


def errored(name: str, blame: Blame, **values: Any) -> ScenarioResult:
    """One without a verdict."""
    return _trial(Outcome.ERROR, name, {"blame": blame, "reason": "no verdict", **values})


def _trial(outcome: Outcome, name: str, values: dict[str, Any]) -> ScenarioResult:
    known = {"name": name, "scenario_id": f"scenarios/{name}.yaml::{name}", "started": START, **values}
    if isinstance(known.get("blame"), str):
        known["blame"] = Blame(known["blame"])
    return result(outcome, **known)


def store(
    folder: Path,
    day: int,
    trials: Iterable[ScenarioResult],
    *,
    prints: Prints = PRINTS,
    commit: str = "",
    ended: bool = True,
    **facts: Any,
) -> str:
    """Write a run of that day of November into `folder/.convoprobe`; its id. `facts` go to `run.json`."""
    run = f"202611{day:02}T120000Z-{day:06x}"
    writer = RunWriter(folder / ".convoprobe", run, redactor=Redactor(environ={}))
    info = RunInfo(run, START, **{"models": {"judge": "openai/gpt-4o"}, **facts})
    if commit:
        info = replace(info, git=Git(commit, "main"))
    writer.write_info(info)
    for trial in trials:
        writer.add(trial, prints)
    if ended:
        counts = count(open_run(writer.folder).rows())
        state = RunState.FINISHED
        writer.write_info(replace(info, state=state, ended=START + 65, exit_status=0, counts=counts))
    writer.close()
    return run
