"""The result of a trial that had no conversation: it was skipped, or something broke before."""

from __future__ import annotations

import json
import time

from ..errors import Blame
from ..result import Outcome, ScenarioResult
from ..results.fingerprints import NO_PRINTS
from ..results.records import to_record
from ..scenario.loading import LoadedScenario


def unrun(
    name: str,
    scenario_id: str,
    reason: str,
    *,
    file: str,
    line: int = 1,
    skipped: bool = False,
    trial: int = 1,
    tags: tuple[str, ...] = (),
    target_name: str = "",
) -> ScenarioResult:
    """A skipped trial, or an error that `infrastructure` is to blame for."""
    return ScenarioResult(
        name=name,
        scenario_id=scenario_id,
        file=file,
        line=line,
        outcome=Outcome.SKIPPED if skipped else Outcome.ERROR,
        reason=reason,
        blame=None if skipped else Blame.INFRASTRUCTURE,
        trial=trial,
        started=time.time(),
        tags=tags,
        target_name=target_name,
    )


def unrun_scenario(
    loaded: LoadedScenario, scenario_id: str, reason: str, *, skipped: bool, trial: int = 1
) -> ScenarioResult:
    """The same for a scenario whose file is known."""
    return unrun(
        loaded.name,
        scenario_id,
        reason,
        file=loaded.file,
        line=loaded.line,
        skipped=skipped,
        trial=trial,
        tags=loaded.tags,
        target_name=loaded.target,
    )


def as_record(result: ScenarioResult) -> str:
    """The record of such a trial as JSON, which travels between processes whatever is in its texts."""
    return json.dumps(to_record(result, NO_PRINTS))
