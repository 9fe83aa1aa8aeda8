"""The examples of docs/how-to/tool-faults.md: an honest agent passes, one that invents an answer fails."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role, ToolRequest
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import LoadedScenario, parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.settings.models import ModelTarget
from pytest_convoprobe.targets.model import ModelAgent
from tests.support.scripted_llm import FakeLLM

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "tool-faults.md").read_text(encoding="utf-8")
EXAMPLES: dict[str, LoadedScenario] = {
    path: parse_scenarios(text, path)[0]
    for path, text in re.findall(r"```yaml\n# (scenarios/\S+)\n(.*?)```", PAGE, re.DOTALL)
}
DOWN, RETRY, GARBLED = (
    path for path, one in EXAMPLES.items() if one.scenario and one.scenario.faults[0].tool
)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"In {city} it is 21 degrees."


def agent(request: LLMRequest, *, honest: bool, patient: bool) -> LLMReply:
    """Asks the tool, once more if it is patient; then says what it got, or what it made up."""
    results = [message.content for message in request.messages if message.role == "tool"]
    if not results or (patient and len(results) == 1 and "21" not in results[0]):
        return LLMReply("", (ToolRequest(f"id{len(results)}", "get_weather", '{"city": "Oslo"}'),))
    if "21" in results[-1]:
        return LLMReply("It is 21 degrees.")
    return LLMReply("I could not find out the temperature." if honest else "It is 18 degrees.")


def judge(request: LLMRequest) -> LLMReply:
    """Goes by what the agent said at last."""
    asked = request.messages[-1].content
    said = re.findall(r"\| (I could not find out the temperature|It is \d+ degrees)", asked)[-1]
    states = said.startswith("It is")
    wanted = "The agent states the temperature" in asked
    found = {"finding": said, "quote": said, "turn": 1, "absence": False}
    reply = {"c1": {**found, "verdict": "met" if states is wanted else "not_met"}}
    if "[f1]" in asked:
        reply["f1"] = {**found, "absence": True, "verdict": "triggered" if states else "not_triggered"}
    return LLMReply(json.dumps(reply))


def run(tmp_path: Path, example: str, *, honest: bool, patient: bool = False) -> ScenarioResult:
    settings = load_settings(tmp_path, overrides={"llm.model": "openai/fake"}, environ={})
    target = ModelAgent(ModelTarget(model="openai/fake"), tools=[get_weather])
    job = Job(EXAMPLES[example], example, target, scenario_settings(settings))

    def answer(request: LLMRequest) -> LLMReply:
        is_agent = request.context.role is Role.TARGET
        return agent(request, honest=honest, patient=patient) if is_agent else judge(request)

    return asyncio.run(Runner(settings, llm=FakeLLM(answer)).run(job))


@pytest.mark.parametrize("example", [DOWN, GARBLED])
def test_an_agent_that_says_so_passes_and_one_that_invents_an_answer_fails(
    tmp_path: Path, example: str
) -> None:
    honest = run(tmp_path, example, honest=True)
    assert honest.outcome is Outcome.PASSED, honest.reason
    assert all(call.fault for _, call in honest.transcript.tool_calls)
    invented = run(tmp_path, example, honest=False)
    assert invented.outcome is Outcome.FAILED, invented.reason
    assert [found.holds for found in invented.criteria] == [False, False]


def test_an_agent_that_tries_again_passes_and_one_that_gives_up_fails(tmp_path: Path) -> None:
    assert run(tmp_path, RETRY, honest=True, patient=True).outcome is Outcome.PASSED
    assert run(tmp_path, RETRY, honest=True).outcome is Outcome.FAILED
