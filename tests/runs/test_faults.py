"""Faults in whole trials: what the agent gets, what the result says, and who is to blame."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe.api import run_scenario
from pytest_convoprobe.errors import Blame
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role, ToolRequest
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS, changed_inputs, take_prints
from pytest_convoprobe.results.records import from_record, to_record
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.settings.models import HttpTarget, ModelTarget
from pytest_convoprobe.targets.fake import FakeConversation, FakeTarget
from pytest_convoprobe.targets.http import HttpAgent
from pytest_convoprobe.targets.model import ModelAgent
from pytest_convoprobe.targets.port import ConversationContext, Description
from pytest_convoprobe.targets.python import PythonAgent
from tests.support.scripted_llm import FakeLLM

SCENARIO = """\
name: Weather
description: The agent looks the weather up.
synthetic_user: {persona: A tourist, initial_query: How warm is it in Oslo?, max_turns: 1}
evaluation: {correctness_criteria: [The agent answers]}
"""
ERROR = {"tool": "get_weather", "kind": "error", "call": 1}


def get_weather(city: str) -> dict[str, Any]:
    """The weather in a city."""
    return {"city": city, "celsius": 21}


def scripted(said: Callable[[str], str] = lambda result: f"I got {result}", calls: int = 1) -> FakeLLM:
    """An agent that looks the weather up `calls` times at once and says what it got; a judge that agrees."""

    def answer(request: LLMRequest) -> LLMReply:
        if request.context.role is Role.JUDGE:
            found = {"finding": "seen", "quote": "I", "turn": 1, "absence": True, "verdict": "met"}
            return LLMReply(json.dumps({"answers": [{"id": "c1", **found}]}))
        results = [message.content for message in request.messages if message.role == "tool"]
        asked = (ToolRequest(f"id{at}", "get_weather", '{"city": "Oslo"}') for at in range(calls))
        return LLMReply(said(" and ".join(results))) if results else LLMReply("", tuple(asked))

    return FakeLLM(answer)


def run(
    tmp_path: Path,
    faults: list[dict[str, Any]],
    *,
    llm: FakeLLM | None = None,
    target: Any = None,
    of_target: list[dict[str, Any]] | None = None,
    held: ScenarioResult | None = None,
    overrides: dict[str, Any] | None = None,
) -> ScenarioResult:
    loaded_settings = load_settings(
        tmp_path, overrides={"llm.model": "openai/fake", **(overrides or {})}, environ={}
    )
    (loaded,) = parse_scenarios(SCENARIO + yaml.safe_dump({"faults": faults}), str(tmp_path / "weather.yaml"))
    settings = scenario_settings(loaded_settings).model_copy(
        update={"faults": ModelTarget.model_validate({"faults": of_target or []}).faults}
    )
    agent = target or ModelAgent(ModelTarget(model="openai/fake"), tools=[get_weather])
    job = Job(loaded, "weather.yaml::weather", agent, settings)
    job = job if held is None else replace(job, held=held.transcript)
    return asyncio.run(Runner(loaded_settings, llm=llm or scripted()).run(job))


def test_the_agent_gets_the_fault_and_the_transcript_says_so(tmp_path: Path) -> None:
    result = run(tmp_path, [ERROR])
    assert result.outcome is Outcome.PASSED, result.reason
    (turn,) = result.transcript.turns
    (call,) = turn.reply.tool_calls or ()
    assert turn.reply.text == "I got Error: internal error"
    assert (call.error, call.result, call.fault) == ("internal error", None, "error: internal error")


def test_of_calls_at_once_the_first_that_was_asked_for_gets_it(tmp_path: Path) -> None:
    result = run(tmp_path, [{**ERROR, "kind": "result", "result": "snow"}], llm=scripted(calls=3))
    (turn,) = result.transcript.turns
    assert [call.fault for call in turn.reply.tool_calls or ()] == ["fixed result", "", ""]
    assert turn.reply.text.startswith('I got snow and {"city": "Oslo", "celsius": 21}')


def test_those_of_the_scenario_come_before_those_of_the_target(tmp_path: Path) -> None:
    of_target = [{**ERROR, "kind": "empty", "call": [1, 2]}]
    result = run(tmp_path, [ERROR], of_target=of_target, llm=scripted(calls=2))
    assert [call.fault for _, call in result.transcript.tool_calls] == [
        "error: internal error",
        "empty result",
    ]


def test_a_fault_that_is_not_reached_is_an_error_of_the_scenario(tmp_path: Path) -> None:
    result = run(tmp_path, [{**ERROR, "call": 2}])
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "the conversation has not reached call 2 of `get_weather`" in result.reason
    assert run(tmp_path, [{**ERROR, "call": 2, "optional": True}]).outcome is Outcome.PASSED


def test_a_conversation_that_broke_off_says_why(tmp_path: Path) -> None:
    def broken(result: str) -> str:
        raise RuntimeError("a defect")

    result = run(tmp_path, [{**ERROR, "call": 2}], llm=scripted(broken))
    assert "a defect" in result.reason
    assert "reached" not in result.reason


def test_a_misspelt_tool_is_found_before_a_model_is_called(tmp_path: Path) -> None:
    llm = scripted()
    # The first conversation imports the tools, so that their names are known.
    result = run(tmp_path, [{**ERROR, "tool": "get_wether"}], llm=llm)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "faults: the target has no tool `get_wether`; did you mean `get_weather`?" in result.reason
    assert llm.requests == []


def answer(message: str) -> str:
    return "Hello"


@pytest.mark.parametrize(
    "make",
    [
        lambda: HttpAgent(HttpTarget(url="http://localhost:9/", body={"m": "{{ message }}"})),
        lambda: FakeTarget("Hello"),
        lambda: PythonAgent(answer, rootdir=Path.cwd(), name="answer"),
        lambda: PythonAgent(FakeTarget("Hello"), rootdir=Path.cwd(), name="fake"),
    ],
    ids=["http", "a target of the project", "a function", "a target as an object"],
)
def test_a_target_whose_tools_are_out_of_reach_is_a_start_error(tmp_path: Path, make: Any) -> None:
    optional = {**ERROR, "optional": True}
    for faults, of_target in (([optional], []), ([], [optional])):
        result = run(tmp_path, faults, of_target=of_target, target=make())
        assert result.outcome is Outcome.ERROR
        assert "no faults can be injected into the tools of" in result.reason
        assert not result.transcript.turns


def test_a_delay_must_fit_into_a_turn(tmp_path: Path) -> None:
    delay = {**ERROR, "kind": "delay", "seconds": 5}
    result = run(tmp_path, [delay], overrides={"run.turn_timeout": 5})
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "`get_weather` waits 5 s, but a turn may take only 5 s (run.turn_timeout)" in result.reason


def test_an_agent_that_does_not_cope_with_the_fault_is_to_blame(tmp_path: Path) -> None:
    class Raising(FakeTarget):
        injects_faults = True

        async def start(self, context: ConversationContext) -> FakeConversation:
            assert context.faults is not None
            faults = context.faults
            self._answer = lambda message, turn: faults.around("get_weather", lambda: asyncio.sleep(0, "sun"))
            return await super().start(context)

    result = run(tmp_path, [{**ERROR, "kind": "timeout"}], target=Raising())
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT), result.reason
    assert "after a fault (`faults`) that a tool had: the request timed out" in result.reason


def test_a_stored_conversation_is_judged_with_its_faults(tmp_path: Path) -> None:
    faulty, plain = run(tmp_path, [ERROR]), run(tmp_path, [])
    assert run(tmp_path, [ERROR], held=faulty).outcome is Outcome.PASSED
    assert "run the scenario again" in run(tmp_path, [ERROR], held=plain).reason


def test_a_change_of_the_faults_has_a_name(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, overrides={"llm.model": "openai/fake"}, environ={})

    def prints(faults: list[dict[str, Any]], of_target: list[dict[str, Any]]) -> Any:
        (loaded,) = parse_scenarios(SCENARIO + yaml.safe_dump({"faults": faults}), "weather.yaml")
        rules = ModelTarget.model_validate({"faults": of_target}).faults
        own = scenario_settings(settings).model_copy(update={"faults": rules})
        return take_prints(loaded.scenario, own, Description(), Redactor())

    assert changed_inputs(prints([], []), prints([ERROR], [])) == ("scenario",)
    assert changed_inputs(prints([], []), prints([], [ERROR])) == ("target's faults",)
    assert changed_inputs(prints([], [ERROR]), prints([], [ERROR])) == ()


def test_every_report_and_the_judge_see_the_fault(tmp_path: Path) -> None:
    llm = scripted()
    result = run(tmp_path, [{**ERROR, "message": "out | of <b>order</b>"}], llm=llm)
    read = [one.messages[1].content for one in llm.requests if one.context.role is Role.JUDGE]
    assert all("go wrong on purpose: error: out | of <b>order</b>" in text for text in read)
    agent = "\n".join(
        message.content for one in llm.requests if one.context.role is Role.TARGET for message in one.messages
    )
    assert "out | of <b>order</b>" in agent
    assert "purpose" not in agent
    kept = from_record(json.loads(json.dumps(to_record(result, NO_PRINTS)))).result
    assert [call.fault for _, call in kept.transcript.tool_calls] == ["error: out | of <b>order</b>"]


def test_a_replay_has_the_same_faults_and_another_fault_is_not_in_the_recording(tmp_path: Path) -> None:
    def mode(name: str) -> dict[str, Any]:
        return {"run.replay": name}

    chance = {**ERROR, "call": None, "chance": 0.5}
    recorded = run(tmp_path, [chance], llm=scripted(calls=6), overrides=mode("record"))
    faults = [call.fault for _, call in recorded.transcript.tool_calls]
    assert len(set(faults)) == 2
    silent = FakeLLM([])
    replayed = run(tmp_path, [chance], llm=silent, overrides=mode("only"))
    assert (replayed.outcome, silent.requests) == (Outcome.PASSED, [])
    assert [call.fault for _, call in replayed.transcript.tool_calls] == faults
    other = run(tmp_path, [{**chance, "kind": "empty"}], llm=silent, overrides=mode("only"))
    assert (other.outcome, other.blame) == (Outcome.ERROR, Blame.RECORDING)


def test_settings_that_are_given_as_the_target_bring_their_faults(tmp_path: Path) -> None:
    (loaded,) = parse_scenarios(SCENARIO, str(tmp_path / "weather.yaml"))
    given = HttpTarget.model_validate({"url": "http://localhost:9/", "faults": [{**ERROR, "optional": True}]})
    overrides = {"llm.model": "openai/fake", "run.replay": "only", "results.save": False}
    assert loaded.scenario is not None
    result = run_scenario(loaded.scenario, target=given, settings=overrides, rootdir=tmp_path)
    assert "no faults can be injected into the tools of" in result.reason


def test_faults_of_models_need_a_target_whose_calls_are_seen(tmp_path: Path) -> None:
    result = run(tmp_path, [{"model": "gpt-4o", "kind": "error"}])
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "no faults can be injected into calls of the model `gpt-4o`" in result.reason
    assert "`target.models`" in result.reason
