"""Scenarios whose agents wait for a person, from the file to the stored result."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe import PendingRequest, Reply, TargetCrashed, ToolCall, Usage
from pytest_convoprobe.errors import Blame
from pytest_convoprobe.lint.linting import lint_file
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role
from pytest_convoprobe.pseudonyms import Masking
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import from_record, to_record
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.mask_rules import patterns_of
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.python import PythonAgent
from tests.support.scripted_llm import FakeLLM

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "approvals.md"
KEY = "sk-live-4f9a8b7c6d5e4f3a2b1c"


class Shop:
    """Refunds what is permitted, and says which order was not."""

    def reply(self, message: str) -> dict[str, Any]:
        orders = re.findall(r"A-\d+", message)
        waiting = [{"id": order, "tool": "refund", "args": {"order": order}} for order in orders]
        return {"text": "", "tool_calls": [], "usage": (5, 5), "pending": waiting}

    async def resume(self, answered: Sequence[PendingRequest]) -> Reply:
        calls = [
            ToolCall("refund", one.arguments, "done", id=one.id)
            for one in answered
            if one.answer == "approve"
        ]
        return Reply("Goodbye!", tuple(calls), Usage(1, 1))


def judged(request: LLMRequest) -> LLMReply:
    found = {"finding": "seen", "quote": "Goodbye!", "turn": 1, "absence": False, "verdict": "met"}
    return LLMReply(json.dumps({"answers": [{"id": "c1", **found}]}))


def run(
    tmp_path: Path, agent: object, user: dict[str, Any], tools: dict[str, Any] | None = None
) -> tuple[ScenarioResult, FakeLLM]:
    opening = {"persona": "Somebody", "initial_query": "Refund A-1001 and A-1002!", "max_turns": 1}
    scenario = {
        "name": "A refund",
        "description": "The agent refunds what was permitted.",
        "synthetic_user": {**opening, **user},
        "evaluation": {"correctness_criteria": ["The agent says goodbye"], "tool_usage": tools or {}},
    }
    settings = load_settings(tmp_path, overrides={"llm.model": "openai/fake", "llm.api_key": KEY}, environ={})
    (loaded,) = parse_scenarios(json.dumps(scenario), str(tmp_path / "talk.yaml"))
    masking = Masking(patterns_of(settings.settings.results.mask))
    job = Job(loaded, "x::y", as_target(agent), scenario_settings(settings, None), masking=masking)
    llm = FakeLLM(judged)
    result = asyncio.run(Runner(settings, llm=llm).run(job))
    return from_record(to_record(result, NO_PRINTS)).result, llm


RULES = [
    {"tool": "refund", "args": {"order": "A-1001"}, "answer": "approve"},
    {"tool": "*", "answer": "reject"},
]


@pytest.mark.parametrize(
    ("tools", "outcome"),
    [
        ({"required_tools": ["refund"]}, Outcome.PASSED),
        ({"tool_call_criteria": [{"tool": "refund", "assertions": [{"times": 1}]}]}, Outcome.PASSED),
        ({"prohibited_tools": ["refund"]}, Outcome.FAILED),
    ],
)
def test_what_was_permitted_is_a_use_and_what_was_rejected_an_attempt(
    tmp_path: Path, tools: dict[str, Any], outcome: Outcome
) -> None:
    result, llm = run(tmp_path, Shop, {"approvals": RULES}, tools)
    assert result.outcome is outcome
    (turn,) = result.transcript.turns
    calls = [(call.arguments["order"], call.executed) for call in turn.reply.tool_calls or ()]
    assert calls == [("A-1002", False), ("A-1001", True)]
    assert [one.answer for one in turn.reply.pending] == ["approve", "reject"]
    assert turn.reply.usage == Usage(6, 6)
    asked = llm.requests[-1].messages[-1].content
    assert "the user permits the call" in asked
    assert "the user refuses the call" in asked


def test_a_rejected_call_is_not_a_use(tmp_path: Path) -> None:
    result, _ = run(tmp_path, Shop, {"approvals": "reject"}, {"required_tools": ["refund"]})
    (check,) = result.checks
    assert (check.holds, check.found) == (False, "2 calls (2 not carried out)")


def test_without_an_answer_the_scenario_is_to_blame(tmp_path: Path) -> None:
    result, _ = run(tmp_path, Shop, {})
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert result.transcript.pending_usage == Usage(5, 5)


def test_secrets_in_all_that_agents_report_are_masked(tmp_path: Path) -> None:
    class Leaks:
        def reply(self, message: str) -> Reply:
            call = ToolCall("look", id=f"1 {KEY}", agent=f"agent {KEY}", group=KEY)
            waiting = PendingRequest(KEY, text=f"May I use {KEY}?", arguments={"key": KEY}, choices=(KEY,))
            return Reply("", (call,), pending=(waiting,))

        def resume(self, answered: Sequence[PendingRequest]) -> Reply:
            return Reply("Goodbye!", (ToolCall("look", parent=f"1 {KEY}"),))

    result, _ = run(tmp_path, Leaks, {"approvals": [{"tool": "*", "answer": "approve", "reason": KEY}]})
    assert result.outcome is Outcome.PASSED
    assert KEY not in json.dumps(to_record(result, NO_PRINTS))
    assert len(result.transcript.turns[0].reply.pending) == 1


def test_personal_data_in_questions_and_answers_is_masked(tmp_path: Path) -> None:
    heard: list[str] = []

    class Asks:
        def reply(self, message: str) -> Reply:
            return Reply("", (), pending=(PendingRequest("1", "question", "Mail to zoe@example.com?"),))

        def resume(self, answered: Sequence[PendingRequest]) -> Reply:
            heard.append(answered[0].answer or "")
            return Reply("Goodbye!", (ToolCall("ask", agent="zoe@example.com", id="bob@example.com"),))

    (tmp_path / "convoprobe.yaml").write_text("results: {mask: [email]}\n", encoding="utf-8")
    rules = [{"tool": "*", "answer": "No, to bob@example.com"}]
    result, llm = run(tmp_path, Asks, {"approvals": rules})
    assert heard == ["No, to bob@example.com"]
    assert "@example.com" not in json.dumps(to_record(result, NO_PRINTS)) + str(llm.requests)
    (asked,) = result.transcript.turns[0].reply.pending
    assert (asked.text, asked.answer) == ("Mail to [email 2]?", "No, to [email 1]")


def test_tokens_of_a_message_that_failed_are_counted(tmp_path: Path) -> None:
    class Breaks(Shop):
        async def resume(self, answered: Sequence[PendingRequest]) -> Reply:
            raise TargetCrashed("boom", tool_calls=[ToolCall("refund")], usage=Usage(100, 10))

    result, _ = run(tmp_path, Breaks, {"approvals": "approve"})
    assert (result.outcome, result.reason) == (Outcome.FAILED, "boom")
    assert [call.name for call in result.transcript.pending_calls] == ["refund"]
    assert result.transcript.pending_usage == Usage(105, 15)
    assert result.spending[Role.TARGET].usage == Usage(105, 15)


def test_a_misspelt_tool_in_a_rule_is_an_error_where_the_tools_are_known(tmp_path: Path) -> None:
    rules = [{"tool": "refund_ordr", "answer": "reject"}, {"tool": "*", "answer": "approve"}]
    agent = PythonAgent(Shop, rootdir=tmp_path, name="shop", tools=["refund_order"])
    result, _ = run(tmp_path, agent, {"approvals": rules})
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "synthetic_user.approvals: the target has no tool `refund_ordr`; did you mean" in result.reason


def test_the_examples_of_the_page_work(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (scenario,) = [text for language, text in blocks if language == "yaml" and text.startswith("name:")]
    (code,) = [text for language, text in blocks if language == "python"]
    file = tmp_path / "refunds.scenario.yaml"
    file.write_text(scenario, encoding="utf-8")
    assert lint_file(file) == []
    (loaded,) = parse_scenarios(scenario, str(file))
    assert loaded.scenario is not None
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    user = loaded.scenario.synthetic_user.model_dump(mode="json", include={"initial_query", "approvals"})
    result, _ = run(tmp_path, names["Shop"], {**user, "approvals": "reject"})
    (call,) = result.transcript.turns[0].reply.tool_calls or ()
    assert (call.name, call.executed) == ("refund", False)
