"""Rows whose target calls models itself: recorded with its provider, replayed without one."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_convoprobe.benchmark.engines.worker import Worker
from pytest_convoprobe.benchmark.format.models import BenchmarkConfig
from pytest_convoprobe.benchmark.rows.work import RowResult
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.settings.model_upstreams import ModelUpstreams
from pytest_convoprobe.settings.models import PythonTarget, RunSettings
from pytest_convoprobe.settings.volatile_parts import VolatileParts
from tests.conversation.doubles import says
from tests.support.model_server import ModelServer

from ..parts import config, simulation, task

AGENT = """
import itertools, openai

CLIENT = openai.OpenAI(api_key="kk-4711-of-the-agent", max_retries=0)
STARTED = itertools.count(1)

class Agent:
    def __init__(self):
        self.said = [{"role": "system", "content": f"run {PLACE} {next(STARTED)}"}]

    def send(self, message):
        self.said.append({"role": "user", "content": message})
        answer = CLIENT.chat.completions.create(model="gpt-x", messages=self.said).choices[0].message.content
        self.said.append({"role": "assistant", "content": answer})
        return answer
"""


def settings(folder: Path, provider: str, replay: str, name: str, agent: str) -> BenchmarkConfig:
    (folder / f"{name}.py").write_text(agent.replace("{PLACE}", name), encoding="utf-8")
    target = PythonTarget(
        object=f"{name}.py:Agent",
        models=ModelUpstreams(openai=f"{provider}/v1"),
        model_volatile=VolatileParts(texts=(r"run \w+ \d+",)),
    )
    return config(target, run=RunSettings(replay=replay))  # type: ignore[arg-type]


POLITE = (
    AGENT.replace("class Agent", "class Rude")
    + """
class Agent(Rude):
    def send(self, message):
        try:
            return super().send(message)
        except openai.APIStatusError:
            return "I am sorry."
"""
)


async def test_words_after_a_failure_of_the_provider_are_not_scored(tmp_path: Path) -> None:
    with ModelServer(faults=["500"]) as provider:
        failed, good = await rows(tmp_path, provider.url, "off", "polite", POLITE)
    assert failed.row is None
    assert "turn 1: the provider failed in the agent's call of `gpt-x` (status 500" in failed.failure
    assert good.failure == ""


async def rows(folder: Path, provider: str, replay: str, name: str, agent: str = AGENT) -> list[RowResult]:
    user = FakeLLM(
        lambda request: says(f"This is message {request.context.turn} of {request.context.trial}.")
    )
    worker = Worker(task("simulate", settings(folder, provider, replay, name, agent), root=folder), user)
    try:
        return [await worker.do(simulation(sample=sample)) for sample in (1, 2)]
    finally:
        await worker.aclose()


async def test_the_agents_calls_are_in_the_recording_of_the_row(tmp_path: Path) -> None:
    with ModelServer() as provider:
        recorded = await rows(tmp_path, provider.url, "record", "first")
        assert len(provider.requests) == 4
    replayed = await rows(tmp_path, "http://127.0.0.1:9", "only", "second")

    assert [one.failure for one in (*recorded, *replayed)] == [""] * 4
    assert [one.row for one in replayed] == [one.row for one in recorded]
    assert [one.spending[Role.AGENT.value].replayed for one in replayed] == [2, 2]
    (path,) = (tmp_path / "_recordings" / "simulate-t1").iterdir()
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert [call["trial"] for call in stored["calls"] if call["role"] == "agent"] == [1, 1, 2, 2]
    assert "kk-4711" not in path.read_text(encoding="utf-8")


async def test_a_row_whose_calls_are_not_recorded_is_no_row(tmp_path: Path) -> None:
    with ModelServer() as provider:
        await rows(tmp_path, provider.url, "record", "first")
        made = len(provider.requests)
        first, _ = await rows(tmp_path, provider.url, "only", "another name")
        assert len(provider.requests) == made

    assert first.row is None
    assert "no reply is recorded for a model call of the agent in turn 1" in first.failure
    assert "the system prompt changed" in first.failure
