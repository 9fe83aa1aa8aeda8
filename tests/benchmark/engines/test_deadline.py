"""Targets that never come back: their rows fail, and the others are made."""

from __future__ import annotations

import asyncio

from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMRequest
from pytest_convoprobe.settings.models import PythonTarget, RunSettings
from tests.conversation.doubles import says

from ..parts import config, simulation, task

DOES = {1: "fine", 2: "swallows", 3: "sleeps", 4: "waits"}
"""What the target is asked for in each sample."""


async def test_a_benchmark_with_targets_that_never_come_back_ends() -> None:
    target = PythonTarget(object="tests.support.hanging_agents:HangingInEveryWay")
    run = RunSettings(turn_timeout=0.5, scenario_timeout=2, replay="off")
    failures: dict[str, str | None] = {}

    async def make() -> None:
        engine, items = LocalEngine(llm=FakeLLM(_user)), [simulation(sample=sample) for sample in DOES]
        async for made in engine.run(task("simulate", config(target, turns=1, run=run)), items):
            failures[DOES[made.unit.place.sample]] = made.failure
        await engine.aclose()

    await asyncio.wait_for(make(), 30)
    assert failures.keys() == set(DOES.values())
    assert not failures.pop("fine")
    assert all("hanging_agents.py:" in str(failure) for failure in failures.values())


def _user(request: LLMRequest) -> str:
    return says(DOES[request.context.trial])
