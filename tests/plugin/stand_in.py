"""A runner without models: a scenario's `metadata` says what becomes of it.

`metadata: {outcome: failed, sleep: 0.5}` and so on; `outcomes` are those of the first trials, and the last
one is that of all others. Each conversation is logged in `talk.log`
in the rootdir, so that tests see what was talked, when, and how often. One with `until: end a.yaml::one`
goes on once the log has a line that begins so: where an order matters, no time has to be guessed.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.plugin.backend import Backend
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.scenario.loading import LoadedScenario
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Termination, Transcript, Turn, Usage

BLAMES = {Outcome.FAILED: Blame.AGENT, Outcome.ERROR: Blame.INFRASTRUCTURE}


_KEYS = frozenset(
    "outcome outcomes reason blame score sleep until until_run duration unmatched_tools".split()
)
_TOLD: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}


class StandIn(Backend):
    """The real package but for the runner."""

    def load_scenarios(self, path: Path) -> tuple[LoadedScenario, ...]:
        return tuple(map(_without_orders, super().load_scenarios(path)))

    def check_models(self, loaded: Any, scenario: Any, target: Any) -> None:
        return None

    def open_runner(self, loaded: Any, shared: Any) -> Any:
        return StandInRunner(shared)


def _without_orders(loaded: LoadedScenario) -> LoadedScenario:
    """The scenario as a real agent would meet it: what becomes of it is no part of what is tested."""
    if loaded.scenario is None:
        return loaded
    metadata = loaded.scenario.metadata
    told = {key: value for key, value in metadata.items() if key in _KEYS}
    _TOLD.setdefault((loaded.file, loaded.line), {})[loaded.name] = told
    others = {key: value for key, value in metadata.items() if key not in _KEYS}
    return replace(loaded, scenario=loaded.scenario.model_copy(update={"metadata": others}))


def _told(loaded: LoadedScenario) -> dict[str, Any]:
    assert loaded.scenario is not None
    # Parameters of fixtures and names of targets come behind the name.
    named = _TOLD.get((loaded.file, loaded.line), {})
    told = next((named[name] for name in sorted(named, key=len)[::-1] if loaded.name.startswith(name)), {})
    return {**loaded.scenario.metadata, **told}


class StandInRunner:
    spent = (0.25, 1200)

    def __init__(self, shared: Any) -> None:
        self._shared = shared

    def preload(self) -> None:
        log("preload")

    def agent_variables(self, models: Any, *, keyless: bool) -> AbstractContextManager[None]:
        return nullcontext()

    async def start_gateway(self) -> None:
        pass

    async def aclose(self) -> None:
        if self._shared is not None:
            await self._shared.aclose()
        log("closed")

    async def run(self, job: Any) -> ScenarioResult:
        log(f"start {job.scenario_id} {job.trial}")
        told = _told(job.loaded)
        begun = time.perf_counter()
        context = ConversationContext(
            job.scenario_id, FakeLLM([]), job.scenario_id, job.trial, waiting=job.waiting, metadata=told
        )
        try:
            conversation = await job.target.start(context)
            await asyncio.sleep(told.get("sleep", 0))
            await _until(told.get("until", ""))
            reply = await conversation.send("hello")
        except asyncio.CancelledError:
            log(f"cancelled {job.scenario_id}")
            raise
        await conversation.aclose()
        transcript = Transcript((Turn(1, "hello", reply),), Termination.USER_DONE)
        extra = tuple(job.extra_checks(job.loaded.scenario, transcript)) if job.extra_checks else ()
        log(f"end {job.scenario_id} {job.trial}")
        return _result(job, transcript, extra, time.perf_counter() - begun)


def _result(
    job: Any, transcript: Transcript, extra: tuple[CheckResult, ...], seconds: float
) -> ScenarioResult:
    told = _told(job.loaded)
    failed_before = Path("talk.log").read_text().count(f"end {job.scenario_id} ") - 1
    outcomes = told.get("outcomes") or [told.get("outcome", "passed")]
    outcome = Outcome(outcomes[min(job.trial, len(outcomes)) - 1])
    if failed_before >= told.get("until_run", 10**9) or all(check.holds for check in extra) is False:
        outcome = Outcome.PASSED if all(check.holds for check in extra) else Outcome.FAILED
    return ScenarioResult(
        name=job.loaded.name,
        scenario_id=job.scenario_id,
        file=str(job.loaded.file),
        line=job.loaded.line,
        outcome=outcome,
        unmatched_tools=tuple(told.get("unmatched_tools", ())),
        reason=told.get("reason", "" if outcome is Outcome.PASSED else "as it was told"),
        blame=Blame(told["blame"]) if "blame" in told else BLAMES.get(outcome),
        score=told.get("score", 1.0 if outcome is Outcome.PASSED else 0.0),
        transcript=transcript,
        checks=extra,
        spending={Role.JUDGE: Spending(1, 1, 0, Usage(100, 20), 0.002)},
        trial=job.trial,
        duration=told.get("duration", seconds),
        target=job.target.name,
        target_name=job.loaded.target,
    )


async def _until(beginning: str, seconds: float = 30) -> None:
    """Wait for a line of the log; not for ever, since the test then fails in its own words."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if any(line.startswith(beginning) for line in Path("talk.log").read_text("utf-8").splitlines()):
            return
        await asyncio.sleep(0.01)


def log(line: str) -> None:
    with Path("talk.log").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
