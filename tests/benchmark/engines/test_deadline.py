"""Targets that never come back: their rows fail, and the others are made."""

from __future__ import annotations

import asyncio
import os
import subprocess

from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMRequest
from pytest_convoprobe.settings.models import PythonTarget, RunSettings
from tests.conversation.doubles import says
from tests.support import warm_process
from tests.support.chat_server import ChatServer

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


WORKER = """
import asyncio, os
from pytest_convoprobe.benchmark.engines.remote_process import WorkerProcess
from pytest_convoprobe.llm.shared_limits import SharedLimits
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import PythonTarget, RunSettings
from tests.benchmark.parts import config, simulation, task

limits = SharedLimits(8)

async def exchange(report):
    return limits.report("this one", report)

async def work():
    target = PythonTarget(object="tests.support.hanging_agents:HangingAgent")
    user = ModelSettings(model="openai/user", api_base=os.environ["ADDRESS"], api_key="none")
    run = RunSettings(turn_timeout=3, scenario_timeout=5, replay="off")
    process = WorkerProcess(task("simulate", config(target, turns=1, run=run, user_model=user)), exchange)
    await process.ready()
    async for result in process.do([simulation()]):
        print(result)

asyncio.run(work())
"""


def test_a_worker_process_whose_target_keeps_the_interpreter_ends() -> None:
    """So the driver sees that it is lost, and gives its other items to another process."""
    with ChatServer(lambda _: says("keeps")) as server:
        done = subprocess.run(
            [warm_process.executable(), "-c", WORKER],
            cwd=warm_process.ROOT,
            env={**os.environ, "ADDRESS": server.base_url},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert "in keep_the_interpreter" in done.stderr
    assert "the_process_ends_here" in done.stderr
