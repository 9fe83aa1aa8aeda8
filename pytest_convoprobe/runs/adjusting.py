"""The project's hook that changes a trial's settings, called before the trial begins."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from ..errors import HookTimeout
from ..project_code.calls import Raised, in_own_thread
from ..project_code.deadline import Deadline
from ..result import ScenarioResult
from ..settings.judge_settings import as_judge
from ..settings.models import ScenarioSettings
from .job import AdjustSettings, Job

_HOOK = "pytest_convoprobe_settings"


async def adjusted(run: Callable[[Job], Coroutine[Any, Any, ScenarioResult]], job: Job) -> ScenarioResult:
    """Run the job with the settings that the hook gives. What the hook raises is raised here."""
    if job.adjust is None:
        return await run(job)
    try:
        settings = await _in_time(job.adjust, job.settings)
    except HookTimeout as error:
        return await run(replace(job, adjust=None, problem=error))
    return await run(replace(job, adjust=None, settings=settings))


async def _in_time(adjust: AdjustSettings, settings: ScenarioSettings) -> ScenarioSettings:
    limit = settings.run.scenario_timeout
    try:
        async with Deadline(limit, HookTimeout(_HOOK, limit)):
            given = await in_own_thread(lambda: adjust(settings)) or settings
            # pydantic's `model_copy` checks nothing: the judge may be the settings of a model alone.
            return given.model_copy(update={"judge": as_judge(given.judge)})
    except Raised as raised:
        raise raised.error from None
    raise AssertionError("a deadline swallows nothing")
