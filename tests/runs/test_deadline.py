"""Agents that never come back: their own scenario is an error; the others get their verdicts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, ToolRequest
from pytest_convoprobe.loop_thread import LoopThread
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.reading import open_run
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.recorder import RunRecorder
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.runs.unrun import unrun_scenario
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import LoadedSettings, load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.settings.models import ModelTarget
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.model import ModelAgent
from pytest_convoprobe.targets.port import ConversationContext, Description, Target
from pytest_convoprobe.transcript import Reply, Termination
from tests.support.scripted_llm import FakeLLM

from ..support.hanging_agents import (
    HangingAgent,
    HangingInThread,
    HangsInClose,
    HangsInExit,
    endless_words,
    hangs_in_factory,
    swallow_cancellation,
)

SCENARIO = """\
name: {message}
description: The agent answers.
synthetic_user:
  persona: Somebody
  initial_query: {message}
  script: [and now?]
  max_turns: 2
evaluation:
  correctness_criteria: [The agent answers]
"""

LIMITS = {"run.turn_timeout": 0.5, "run.scenario_timeout": 1.5}


def _judge(request: LLMRequest) -> LLMReply:
    found = {"finding": "seen", "quote": "echo", "turn": 1, "absence": False, "verdict": "met"}
    return LLMReply(json.dumps({"answers": [{"id": "c1", **found}]}))


def talk(
    tmp_path: Path, agent: object, messages: Sequence[str], limits: dict[str, Any] = LIMITS
) -> list[ScenarioResult]:
    """Talk with the agent, once for each message and all at once."""
    target = as_target(agent)
    return talk_with(tmp_path, [(target, message) for message in messages], limits)


def talk_with(
    tmp_path: Path,
    pairs: Sequence[tuple[Target, str]],
    limits: dict[str, Any] = LIMITS,
    checks: Sequence[Any] = (),
    model: Any = _judge,
) -> list[ScenarioResult]:
    """Talk with each target, all at once; `checks` are those of the first conversations."""
    settings = load_settings(tmp_path, overrides={"llm.model": "openai/fake", **limits}, environ={})
    runner = Runner(settings, llm=FakeLLM(model))

    def job(number: int, target: Target, message: str) -> Job:
        check = checks[number] if number < len(checks) else None
        return _job(settings, tmp_path, message, target, extra_checks=check)

    async def all_at_once() -> list[ScenarioResult]:
        jobs = [job(number, *pair) for number, pair in enumerate(pairs)]
        try:
            return list(await asyncio.gather(*map(runner.run, jobs)))
        finally:
            for target in {id(target): target for target, _ in pairs}.values():
                await target.aclose()
            await runner.aclose()

    loop = LoopThread()
    try:
        return loop.run(asyncio.wait_for(all_at_once(), 30))
    finally:
        assert loop.close()


def _job(settings: LoadedSettings, folder: Path, message: str, target: Target, **more: Any) -> Job:
    (loaded,) = parse_scenarios(SCENARIO.format(message=message), str(folder / "talk.yaml"))
    assert loaded.scenario is not None
    merged = scenario_settings(settings, loaded.scenario.config)
    return Job(loaded, f"talk.yaml::{message}", target, merged, **more)


def outcomes(results: Sequence[ScenarioResult]) -> dict[str, Outcome]:
    return {result.name: result.outcome for result in results}


HANGING = [
    (HangingAgent, "swallows", "in swallow_cancellation", "let `asyncio.CancelledError` through"),
    (HangingAgent, "sleeps", "in send", "asyncio.to_thread"),
    (HangingAgent, "spins", "in send", "asyncio.to_thread"),
    (HangingInThread, "waits", "in send", "a time limit of its own"),
    (endless_words, "streams", "in endless_words", "a time limit of its own"),
]


def test_a_turn_that_never_ends_is_an_error_that_says_where_the_agent_is(tmp_path: Path) -> None:
    """All hang at once, and beside each another conversation with the same agent goes well."""
    agents: tuple[object, ...] = (HangingAgent, HangingInThread, endless_words)
    targets = {agent: as_target(agent) for agent in agents}
    pairs = [(targets[agent], message) for agent, message, *_ in HANGING]
    fine = [
        (targets[agent], message) for agent in (HangingAgent, HangingInThread) for message in ("one", "two")
    ]
    results = talk_with(tmp_path, [*pairs, *fine])
    for (_, message, place, advice), hanging in zip(HANGING, results[: len(HANGING)], strict=True):
        assert (hanging.outcome, hanging.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE), message
        assert hanging.transcript.termination is Termination.TIMEOUT, message
        where = rf"tests/support/hanging_agents\.py:\d+: {place} did not return in time: "
        assert re.match(where, hanging.reason), message
        assert advice in hanging.reason, message
        assert "run.turn_timeout" in hanging.reason, message
        assert place in hanging.trace, message
        assert "pytest_convoprobe/" not in hanging.trace, message
    others = [(result.outcome, len(result.transcript.turns)) for result in results[len(HANGING) :]]
    assert others == [(Outcome.PASSED, 2)] * 4


def test_several_agents_that_block_cost_two_time_limits_at_most(tmp_path: Path) -> None:
    results = talk(tmp_path, HangingAgent, ["sleeps 1", "fine", "sleeps 2", "swallows", "sleeps 3"])
    assert outcomes(results) == {
        "sleeps 1": Outcome.ERROR,
        "fine": Outcome.PASSED,
        "sleeps 2": Outcome.ERROR,
        "swallows": Outcome.ERROR,
        "sleeps 3": Outcome.ERROR,
    }


def test_agents_that_block_for_less_than_their_limit_only_delay_each_other(tmp_path: Path) -> None:
    limits = {"run.turn_timeout": 1, "run.scenario_timeout": 2}  # each blocks for 0.6 s in a turn
    results = talk(tmp_path, HangingAgent, [f"delays {number}" for number in range(3)], limits)
    assert set(outcomes(results).values()) == {Outcome.PASSED}


def test_an_agent_that_never_closes_has_its_verdict_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agents = (HangsInClose, HangsInExit)
    results = talk_with(tmp_path, [(as_target(agent), "hello") for agent in agents])
    assert [result.outcome for result in results] == [Outcome.PASSED] * 2
    assert caplog.text.count("could not be closed") == 2


async def swallowing_tool(text: str) -> str:
    """Look it up."""
    await swallow_cancellation()
    return text


async def sleeping_tool(text: str) -> str:
    """Look it up."""
    time.sleep(60)
    return text


def waiting_tool(text: str) -> str:
    """Look it up."""
    threading.Event().wait()
    return text


def test_a_tool_of_a_model_that_never_ends_is_an_error(tmp_path: Path) -> None:
    def asks(request: LLMRequest) -> LLMReply:
        (tool,) = request.tools
        return LLMReply("", (ToolRequest("1", tool.name, '{"text": "x"}'),))

    tools = (swallowing_tool, sleeping_tool, waiting_tool)
    agents = [ModelAgent(ModelTarget(model="openai/agent"), tools=[tool]) for tool in tools]
    results = talk_with(tmp_path, [(as_target(agent), "hello") for agent in agents], model=asks)
    for tool, result in zip(tools, results, strict=True):
        assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE), tool
        assert "test_deadline.py:" in result.reason or "hanging_agents.py:" in result.reason, tool


class BlockingTarget:
    """A target of the project's own."""

    name = "own"
    threads: set[int]

    def __init__(self) -> None:
        self.threads = set()

    async def start(self, context: ConversationContext) -> BlockingTarget:
        self.threads.add(threading.get_ident())
        return self

    async def send(self, message: str) -> Reply:
        self.threads.add(threading.get_ident())
        if "sleeps" in message:
            time.sleep(60)
        return Reply(f"echo {message}")

    async def aclose(self) -> None:
        self.threads.add(threading.get_ident())


class SlowToDescribe(BlockingTarget):
    """Its name and its description are code that blocks."""

    def __init__(self, *, name: float = 0, describe: float = 0) -> None:
        super().__init__()
        self._seconds = {"name": name, "describe": describe}

    @property
    def name(self) -> str:  # type: ignore[override]
        time.sleep(self._seconds["name"])
        return "slow"

    def describe(self) -> Description:
        time.sleep(self._seconds["describe"])
        return Description()


async def test_a_target_that_never_describes_itself_is_asked_once_and_its_trials_are_stored(
    tmp_path: Path,
) -> None:
    settings = load_settings(tmp_path, environ={})
    recorder = RunRecorder(tmp_path, lambda: settings, command=["pytest"])
    recorder.begin()
    target = SlowToDescribe(describe=60)

    async def run(job: Job) -> ScenarioResult:
        return unrun_scenario(job.loaded, job.scenario_id, "stand-in", skipped=False, trial=job.trial)

    for trial in (1, 2):
        job = _job(settings, tmp_path, "hello", as_target(target), trial=trial)
        await asyncio.wait_for(recorder.run(run, job), 10)
    assert recorder.folder is not None
    assert len(list(open_run(recorder.folder).rows())) == 2
    (problem,) = recorder.problems
    assert "in describe did not return in time" in problem


EVENT: list[asyncio.Event] = []


class KeepsAnEventInItsModule(HangingAgent):
    async def send(self, message: str) -> str:
        if not EVENT:
            EVENT.append(asyncio.Event())
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(EVENT[0].wait(), 0.01)
        return await super().send(message)


def test_a_client_that_belongs_to_a_lost_loop_is_not_the_agents_fault(tmp_path: Path) -> None:
    EVENT.clear()
    lost, fine = talk(tmp_path, KeepsAnEventInItsModule, ["sleeps", "one"])
    assert "hanging_agents.py:" in lost.reason
    assert (fine.outcome, fine.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "an object of another event loop" in fine.reason
    assert "one event loop for the whole session" in fine.reason


def _hangs(*_: object) -> list[Any]:
    threading.Event().wait()
    return []


def _hangs_while_listed(*_: object) -> Any:
    while True:
        time.sleep(0.01)
        yield from ()


def test_checks_a_factory_and_a_target_of_the_projects_own_have_a_limit_too(tmp_path: Path) -> None:
    checks = (_hangs, _hangs_while_listed)
    own, agent = BlockingTarget(), as_target(HangingAgent)
    pairs = [
        (agent, "one"),
        (agent, "two"),
        (as_target(hangs_in_factory), "three"),
        (own, "sleeps"),
        (as_target(SlowToDescribe(name=60)), "four"),
        (own, "fine"),
    ]
    *hanging, fine = talk_with(tmp_path, pairs, checks=checks)
    places = ("in _hangs", "in _hangs_while_listed", "in hangs_in_factory", "in send", "in name")
    for place, result in zip(places, hanging, strict=True):
        assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE), place
        assert f"{place} did not return in time" in result.reason
    assert hanging[-1].target == "SlowToDescribe"
    assert fine.outcome is Outcome.PASSED


def test_a_cancelled_run_waits_for_no_agent(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, overrides={"llm.model": "openai/fake"}, environ={})
    runner = Runner(settings, llm=FakeLLM(_judge))
    job = _job(settings, tmp_path, "swallows", as_target(HangingAgent))

    async def cancelled() -> None:
        try:
            await asyncio.wait_for(runner.run(job), 0.5)
        finally:
            await runner.aclose()

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(cancelled(), 30))
