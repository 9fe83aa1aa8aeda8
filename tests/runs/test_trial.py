"""One scenario from start to end, with fakes on both sides: what comes out, and who gets the blame."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.conversation.loop import Limits
from pytest_convoprobe.conversation.port import UserMessage
from pytest_convoprobe.errors import (
    Blame,
    BudgetExceeded,
    LLMUnavailable,
    TargetCrashed,
    TargetStartError,
    TargetUnavailable,
)
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.llm.budget import Budget, Spent
from pytest_convoprobe.llm.ledger import Ledger, Spending
from pytest_convoprobe.llm.metered import Metered
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role, ToolRequest
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import from_record, to_record
from pytest_convoprobe.runs.conversation_host import ConversationHost
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.settings.models import HttpTarget, ModelTarget
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.targets.http import HttpAgent
from pytest_convoprobe.targets.model import ModelAgent
from pytest_convoprobe.targets.port import Description, named_tools
from pytest_convoprobe.targets.python import PythonAgent
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Turn, Usage
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import FakeLLM

SCENARIO = """\
name: A greeting
description: The agent greets.
synthetic_user:
  persona: Somebody friendly
  initial_query: Hello there
  max_turns: {max_turns}
evaluation:
  correctness_criteria: [The agent greets]
{more}
"""


def answers(verdict: str = "met", quote: str | None = "echo 1") -> Any:
    """A model that plays the user until it has had its say, and a judge of that opinion."""

    def answer(request: LLMRequest) -> LLMReply:
        if request.context.role is Role.SYNTHETIC_USER:
            text = json.dumps({"message": f"And now {request.context.turn}?", "status": "continue"})
        else:
            found = {"finding": "seen", "quote": quote, "turn": 1, "absence": False, "verdict": verdict}
            text = json.dumps({"answers": [{"id": "c1", **found}]})
        return LLMReply(text, usage=Usage(10, 5), cost=0.01)

    return answer


def run(
    tmp_path: Path,
    *,
    llm: Any = None,
    target: Any = None,
    max_turns: int = 2,
    more: str = "",
    overrides: dict[str, Any] | None = None,
    checks: Any = None,
) -> ScenarioResult:
    settings = load_settings(
        tmp_path, overrides={"llm.model": "openai/fake", **(overrides or {})}, environ={}
    )
    text = SCENARIO.format(max_turns=max_turns, more=more)
    (loaded,) = parse_scenarios(text, str(tmp_path / "greeting.yaml"))
    assert loaded.scenario is not None
    agent = target or FakeTarget(lambda message, turn: Reply(f"echo {turn}", ()))
    job = Job(
        loaded,
        f"greeting.yaml::{loaded.id}",
        agent,
        scenario_settings(settings, loaded.scenario.config),
        extra_checks=checks,
    )
    model = llm if isinstance(llm, FakeLLM) else FakeLLM(llm or answers())

    async def talk() -> ScenarioResult:
        try:
            return await Runner(settings, llm=model).run(job)
        finally:
            if isinstance(agent, HttpAgent):  # its connections belong to this loop
                await agent.aclose()

    return asyncio.run(talk())


def test_a_pass_has_a_score_and_no_blame(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert (result.outcome, result.blame, result.score, result.reason) == (Outcome.PASSED, None, 1.0, "")


def test_the_tokens_that_an_agent_reports_are_spent_and_count_for_the_budget(tmp_path: Path) -> None:
    agent = FakeTarget(lambda message, turn: Reply(f"echo {turn}", (), Usage(70, 30)))
    result = run(tmp_path, target=agent)
    assert result.spending[Role.TARGET] == Spending(usage=Usage(140, 60), cost=None)
    assert (result.total.usage.total, result.total.cost) == (230, pytest.approx(0.02))
    assert Role.TARGET not in run(tmp_path).spending


def test_an_agents_tokens_use_the_budget_up_as_they_come(tmp_path: Path) -> None:
    agent = FakeTarget(lambda message, turn: Reply(f"echo {turn}", (), Usage(70, 30)))
    result = run(tmp_path, target=agent, max_turns=5, overrides={"run.max_tokens": 150})
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.BUDGET)
    assert "200 tokens spent of run.max_tokens 150" in result.reason
    assert result.transcript.termination is Termination.BUDGET
    assert len(result.transcript.turns) == 2


async def test_a_message_that_the_budget_does_not_allow_has_no_calls() -> None:
    """Conversations know the calls of their last message, which are those of the turn before."""
    budget = Budget(max_tokens=5)
    replies = [LLMReply("", (ToolRequest("1", "pay", "{}"),), usage=Usage(1, 1)), LLMReply("Paid.")]

    def answer(request: LLMRequest) -> LLMReply:
        if len(replies) == 1:
            budget.add(Spent(tokens=5))
        return replies.pop(0)

    class Asking:
        async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
            return UserMessage("Pay!")

    def pay() -> str:
        return "paid"

    target = ModelAgent(ModelTarget(model="openai/fake"), tools=[pay])
    llm = Metered(FakeLLM(answer), Ledger(), budget)
    host = ConversationHost()
    async with host.conversation(target, Asking(), Limits(3), llm, "s", 1) as talk:
        with pytest.raises(BudgetExceeded):
            await talk.run()
    await host.aclose()
    assert [call.name for _, call in talk.transcript.tool_calls] == ["pay"]
    assert (talk.transcript.pending_calls, talk.transcript.pending_usage) == ((), None)


def test_what_was_sent_before_time_was_up_is_among_the_costs(tmp_path: Path) -> None:
    """The judge never answers: what it costs isn't known, but that it was asked is."""

    async def answer(request: LLMRequest) -> LLMReply:
        if request.context.role is not Role.JUDGE:
            reply: LLMReply = answers()(request)
            return reply
        request.on_send(Spent())
        await asyncio.sleep(60)
        raise AssertionError

    result = run(tmp_path, llm=answer, overrides={"run.scenario_timeout": 0.3})
    # The question what the criteria are about was answered.
    assert result.spending[Role.JUDGE] == Spending(2, 2, cost=None)


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_turns_cost_one_target_call_each_one_user_call_less_and_one_judge_call(
    tmp_path: Path, turns: int
) -> None:
    llm = FakeLLM(answers())
    result = run(tmp_path, llm=llm, max_turns=turns)
    roles = [request.context.role for request in llm.requests]
    assert len(result.transcript.turns) == turns
    assert roles == [Role.SYNTHETIC_USER] * (turns - 1) + [Role.JUDGE]


def test_spending_is_kept_by_role(tmp_path: Path) -> None:
    spending = run(tmp_path, max_turns=3).spending
    assert spending[Role.SYNTHETIC_USER].usage == Usage(20, 10)
    assert spending[Role.JUDGE].cost == pytest.approx(0.01)


def test_an_unmet_criterion_fails_the_agent(tmp_path: Path) -> None:
    result = run(tmp_path, llm=answers("not_met"))
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    assert result.reason == "c1 not met: The agent greets"


def test_a_broken_check_comes_before_the_judges_criteria_in_the_reason(tmp_path: Path) -> None:
    more = "  tool_usage: {required_tools: [wave]}"
    result = run(tmp_path, llm=answers("not_met"), more=more)
    assert "wave" in result.reason
    assert result.reason.endswith("(+1 more: c1)")


def test_a_projects_own_check_can_fail_a_scenario(tmp_path: Path) -> None:
    result = run(tmp_path, checks=lambda *_: [CheckResult("politeness", False, "a bow", "no bow")])
    assert result.outcome is Outcome.FAILED
    assert "politeness" in result.reason


@pytest.mark.parametrize("holds", ["", 0, None, []])
def test_a_projects_own_check_holds_or_does_not(tmp_path: Path, holds: Any) -> None:
    result = run(tmp_path, checks=lambda scenario, transcript: [CheckResult("own", holds, "yes", "no")])
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    assert result.checks[-1].holds is False


def test_a_projects_own_check_that_is_none_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, checks=lambda scenario, transcript: ["all is well"])
    assert result.outcome is Outcome.ERROR
    assert "a check has to be a CheckResult, not str: 'all is well'" in result.reason


@pytest.mark.parametrize(
    ("models", "turns", "role"),
    [({}, 1, "judge"), ({"judge.model": "openai/fake"}, 2, "synthetic user")],
)
def test_a_missing_model_is_told_before_the_agent_is_asked(
    tmp_path: Path, models: dict[str, str], turns: int, role: str
) -> None:
    settings = load_settings(tmp_path, overrides=models, environ={})
    (loaded,) = parse_scenarios(SCENARIO.format(max_turns=turns, more=""), str(tmp_path / "greeting.yaml"))
    assert loaded.scenario is not None
    agent = FakeTarget("hello")
    job = Job(loaded, f"greeting.yaml::{loaded.id}", agent, scenario_settings(settings))
    result = asyncio.run(Runner(settings).run(job))
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert f"no model is set for the {role}" in result.reason
    assert agent.conversations == []


@pytest.mark.parametrize(
    ("choice", "outcome"),
    [("error", Outcome.ERROR), ("fail", Outcome.FAILED), ("skip", Outcome.SKIPPED)],
)
def test_what_the_judge_cannot_tell_is_as_the_settings_say(
    tmp_path: Path, choice: str, outcome: Outcome
) -> None:
    result = run(tmp_path, llm=answers("cannot_tell"), overrides={"run.inconclusive": choice})
    assert (result.outcome, result.blame) == (outcome, Blame.JUDGE)


def test_a_quote_that_nobody_said_is_never_a_pass(tmp_path: Path) -> None:
    llm = FakeLLM(answers("met", quote="I have wired you a million"))
    result = run(tmp_path, llm=llm)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.JUDGE)
    assert [request.context.role for request in llm.requests].count(Role.JUDGE) == 2


@pytest.mark.parametrize(
    ("error", "outcome", "blame", "termination"),
    [
        (TargetCrashed("boom", trace="agent.py:3"), Outcome.FAILED, Blame.AGENT, Termination.TARGET_ERROR),
        (
            TargetUnavailable("503"),
            Outcome.ERROR,
            Blame.INFRASTRUCTURE,
            Termination.INFRASTRUCTURE_ERROR,
        ),
    ],
)
def test_a_target_that_raises_is_blamed_by_what_it_raises(
    tmp_path: Path, error: Exception, outcome: Outcome, blame: Blame, termination: Termination
) -> None:
    result = run(tmp_path, target=FakeTarget([Reply("echo 1"), error]))
    assert (result.outcome, result.blame, result.transcript.termination) == (outcome, blame, termination)
    assert len(result.transcript.turns) == 1
    assert result.transcript.pending == "And now 2?"


def test_the_trace_of_a_crash_is_kept(tmp_path: Path) -> None:
    assert run(tmp_path, target=FakeTarget([TargetCrashed("boom", trace="agent.py:3")])).trace == "agent.py:3"


class Unstartable(FakeTarget):
    async def start(self, context: Any) -> Any:
        raise TargetStartError("no module named agent")


def test_a_target_that_does_not_start_is_no_verdict(tmp_path: Path) -> None:
    result = run(tmp_path, target=Unstartable(["never"]))
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "no module named agent" in result.reason


@pytest.mark.parametrize(
    ("error", "blame"),
    [
        (LLMUnavailable("503 from the provider", status=503), Blame.INFRASTRUCTURE),
        (BudgetExceeded("spent $1"), Blame.BUDGET),
    ],
)
def test_models_that_fail_are_no_verdict(tmp_path: Path, error: Exception, blame: Blame) -> None:
    result = run(tmp_path, llm=FakeLLM(lambda _: error))
    assert (result.outcome, result.blame) == (Outcome.ERROR, blame)
    assert result.reason == str(error)


def test_a_user_off_its_rails_voids_the_conversation(tmp_path: Path) -> None:
    rambling = FakeLLM(lambda _: json.dumps({"message": "<think>I am a model</think>", "status": "continue"}))
    result = run(tmp_path, llm=rambling)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SIMULATOR)


def test_tokens_that_nobody_tells_are_the_scenarios_fault_and_cost_no_judge(tmp_path: Path) -> None:
    llm = FakeLLM(answers())
    result = run(tmp_path, llm=llm, more="  efficiency: {max_llm_tokens: 100}")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert Role.JUDGE not in [request.context.role for request in llm.requests]


async def _never(*_: object) -> Reply:
    await asyncio.sleep(60)
    return Reply("late")


def _rambling_judge(request: LLMRequest) -> LLMReply:
    answered: LLMReply = answers()(request)
    return LLMReply("I would rather not say.") if request.context.role is Role.JUDGE else answered


def test_a_judge_without_a_verdict_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, llm=_rambling_judge)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.JUDGE)
    assert "I would rather not say." in result.trace


def test_what_code_found_against_the_agent_stands_without_the_judge(tmp_path: Path) -> None:
    result = run(tmp_path, llm=_rambling_judge, more="  tool_usage: {required_tools: [wave]}")
    assert (result.outcome, result.blame, result.score) == (Outcome.FAILED, Blame.AGENT, 0.0)
    assert [criterion.holds for criterion in result.criteria] == [None]


def test_a_turn_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    result = run(tmp_path, target=FakeTarget(_never), overrides={"run.turn_timeout": 0.05})
    assert (result.outcome, result.transcript.termination) == (Outcome.ERROR, Termination.TIMEOUT)
    assert "run.turn_timeout" in result.reason


def test_a_scenario_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    result = run(tmp_path, target=FakeTarget(_never), overrides={"run.scenario_timeout": 0.05})
    assert (result.outcome, result.transcript.termination) == (Outcome.ERROR, Termination.TIMEOUT)
    assert "run.scenario_timeout" in result.reason


def test_a_defect_is_an_error_with_a_trace_and_ends_nothing_else(tmp_path: Path) -> None:
    result = run(tmp_path, checks=lambda *_: 1 / 0)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "ZeroDivisionError" in result.trace


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), pytest.skip.Exception("not today")])
def test_a_check_that_wants_to_leave_is_an_error_like_any_other(tmp_path: Path, error: BaseException) -> None:
    def check(*_: object) -> list[CheckResult]:
        raise error

    result = run(tmp_path, checks=check)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert type(error).__name__ in result.reason


def test_recorded_once_a_scenario_replays_without_a_model(tmp_path: Path) -> None:
    recorded = run(tmp_path, overrides={"run.replay": "record"})
    silent = FakeLLM(lambda _: AssertionError("called live"))
    replayed = run(tmp_path, llm=silent, overrides={"run.replay": "only"})
    assert silent.requests == []
    assert replayed.transcript.turns[1].user == recorded.transcript.turns[1].user
    assert (replayed.outcome, replayed.criteria) == (recorded.outcome, recorded.criteria)
    assert replayed.spending[Role.JUDGE].replayed == 2  # what the criteria are about, and the verdict


def test_a_run_that_breaks_does_not_replace_a_good_recording(tmp_path: Path) -> None:
    run(tmp_path, overrides={"run.replay": "record"})
    (path,) = (tmp_path / "_recordings").rglob("*.json")
    before = path.read_bytes()
    broken = FakeLLM([answers()(_user_request()), LLMUnavailable("503", status=503)])
    assert run(tmp_path, llm=broken, overrides={"run.replay": "record"}).outcome is Outcome.ERROR
    assert path.read_bytes() == before


def test_replies_that_were_no_use_are_asked_for_again_by_the_next_run(tmp_path: Path) -> None:
    """A recording of them would replay the same error for ever."""
    gibberish = run(tmp_path, llm=FakeLLM(lambda _: "no JSON"), overrides={"run.replay": "auto"})
    again = run(tmp_path, overrides={"run.replay": "auto"})
    assert (gibberish.outcome, gibberish.blame) == (Outcome.ERROR, Blame.SIMULATOR)
    assert again.outcome is Outcome.PASSED


def _user_request() -> LLMRequest:
    from ..llm.requests import request

    return request(role=Role.SYNTHETIC_USER, turn=2)


def test_a_miss_says_which_call_has_no_reply(tmp_path: Path) -> None:
    result = run(tmp_path, overrides={"run.replay": "only"})
    assert result.outcome is Outcome.ERROR
    assert "synthetic user" in result.reason
    assert "turn 2" in result.reason


def test_secrets_do_not_survive_in_reasons(tmp_path: Path) -> None:
    key = "sk-test-0123456789abcdef"
    error = TargetUnavailable(f"401: wrong key {key}")
    result = run(tmp_path, target=FakeTarget([error]), overrides={"llm.api_key": key})
    assert "401" in result.reason
    assert key not in result.reason


KEY = "sk-test-0123456789abcdef"


def _talkative(message: str, turn: int) -> Reply:
    """A target that says its key everywhere."""
    call = ToolCall(
        "look_up", {"url": f"https://x/?k={KEY}", "list": [KEY]}, {"seen": KEY}, error=f"no {KEY}"
    )
    return Reply(f"echo {turn}, and my key is {KEY}", (call,))


def test_secrets_that_a_target_or_a_tool_says_do_not_reach_the_result(tmp_path: Path) -> None:
    check = CheckResult("politeness", False, "a bow", f"a key {KEY}")
    result = run(
        tmp_path,
        target=FakeTarget(_talkative),
        llm=answers("met", quote=f"my key is {KEY}"),
        checks=lambda *_: [check],
        overrides={"llm.api_key": KEY},
    )
    assert result.transcript.turns[0].reply.text == "echo 1, and my key is ****"
    assert result.transcript.turns[0].reply.tool_calls[0].error == "no ****"
    assert result.criteria[0].quote == "my key is ****"
    assert result.reason == "politeness: expected a bow, found a key ****"
    assert KEY not in repr(result)


def test_secrets_in_the_trace_of_a_crash_do_not_reach_the_result(tmp_path: Path) -> None:
    crash = TargetCrashed("boom", trace=f"agent.py:3 key={KEY!r}")
    result = run(tmp_path, target=FakeTarget([crash]), overrides={"llm.api_key": KEY})
    assert result.trace == "agent.py:3 key='****'"


def test_what_a_judge_without_a_verdict_said_is_kept(tmp_path: Path) -> None:
    def rambling(request: LLMRequest) -> LLMReply:
        judging = request.context.role is Role.JUDGE
        return LLMReply(f"I rather think so, {KEY}") if judging else answers()(request)

    result = run(tmp_path, llm=rambling, overrides={"llm.api_key": KEY})
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.JUDGE)
    assert result.trace == "I rather think so, ****"


# The names of tools


class Known(FakeTarget):
    """A target that says which tools it has."""

    def describe(self) -> Description:
        return Description(tools=named_tools(["find_order", "delete_order"]))


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ("{prohibited_tools: [delete_ordr]}", "no tool `delete_ordr`; did you mean `delete_order`?"),
        ("{prohibited_tools: [deleteOrder]}", "did you mean `delete_order`?"),
        ("{required_tools: [find_ordre]}", "did you mean `find_order`?"),
        ("{required_tools: [pay]}", "its tools are `find_order`, `delete_order`"),
        ("{tool_call_criteria: [{tool: pay, assertions: [It is paid once]}]}", "no tool `pay`"),
        ("{tool_call_criteria: [{tool: find_order, assertions: [{before: pay}]}]}", "no tool `pay`"),
        ("{required_tools: ['mcp__shop__*']}", "no tool of the target matches `mcp__shop__*`"),
    ],
)
def test_a_name_without_a_tool_is_an_error_before_the_first_call(
    tmp_path: Path, usage: str, words: str
) -> None:
    llm = FakeLLM(answers())
    target = Known(lambda message, turn: Reply("echo", ()))
    result = run(tmp_path, target=target, llm=llm, more=f"  tool_usage: {usage}")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert words in result.reason
    assert (llm.requests, result.transcript.turns) == ([], ())


def test_a_prohibited_tool_that_nobody_has_is_said_not_to_fail(tmp_path: Path) -> None:
    target = Known(lambda message, turn: Reply(f"echo {turn}", ()))
    result = run(tmp_path, target=target, more="  tool_usage: {prohibited_tools: [launch_rocket]}")
    assert result.passed
    assert result.checks[0].found == "no call; the target has no such tool, so this can't fail"


@pytest.mark.parametrize("kind", [PythonAgent, HttpAgent])
def test_the_settings_may_name_the_tools_of_an_agent(tmp_path: Path, kind: type) -> None:
    target: Any = PythonAgent(lambda message: Reply("echo", ()), rootdir=tmp_path, name="a", tools=["pay"])
    if kind is HttpAgent:
        target = HttpAgent(HttpTarget(url="http://127.0.0.1:1/chat", tools=("pay",)))
    result = run(tmp_path, target=target, more="  tool_usage: {prohibited_tools: [Pay]}")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "did you mean `pay`?" in result.reason


def test_an_agent_that_is_silent_fails_whatever_the_judge_says(tmp_path: Path) -> None:
    result = run(tmp_path, llm=answers("met", "(nothing)"), target=FakeTarget("\u200b"))
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    assert result.reason.startswith("the agent says something: expected a reply with text")


def test_calls_before_the_end_of_an_endless_loop_are_kept(tmp_path: Path) -> None:
    def pay(sum: int) -> str:
        return f"paid {sum}"

    asking = LLMReply("", (ToolRequest("1", "pay", '{"sum": 3}'),), finish_reason="tool_calls")
    target = ModelAgent(ModelTarget(model="openai/fake", max_tool_rounds=1), tools=[pay])
    result = run(tmp_path, target=target, llm=lambda request: asking)
    assert (result.outcome, result.transcript.pending) == (Outcome.FAILED, "Hello there")
    stored = from_record(json.loads(json.dumps(to_record(result, NO_PRINTS)))).result.transcript
    for transcript in (result.transcript, stored):
        assert [(call.name, call.result) for call in transcript.pending_calls] == [("pay", "paid 3")]


@pytest.mark.parametrize(
    ("usage", "reported"),
    [
        ("tool_usage: {prohibited_tools: [book_room]}", "answer.toolz"),
        ("tool_usage: {only_listed: true}", "answer.toolz"),
        ("efficiency: {max_tool_calls: 0}", "answer.toolz"),
        ("tool_usage: {prohibited_tools: [book_room]}", "answer.parts[].toolz[]"),
    ],
)
def test_a_misspelt_path_is_an_error_that_says_what_the_answer_has(
    tmp_path: Path, usage: str, reported: str
) -> None:
    tools = [{"name": "book_room", "arguments": {}, "result": "booked"}]
    answer = {"answer": {"text": "echo 1", "tools": tools, "parts": [{"tools": tools}]}}
    with AgentServer(lambda request: answer) as server:
        target = HttpAgent(HttpTarget(url=server.url, text="answer.text", tool_calls=reported))
        result = run(tmp_path, target=target, max_turns=1, more=f"  {usage}")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert f"`target.tool_calls: {reported}` finds nothing in the answer" in result.reason
    assert "`answer.tools[0].name`" in result.reason
    assert "target.tool_calls_optional: true" in result.reason


def test_templates_know_the_metadata_of_the_scenario(tmp_path: Path) -> None:
    with AgentServer(lambda request: {"text": f"echo {request.json['of']}"}) as server:
        target = HttpAgent(HttpTarget(url=server.url, body={"of": "{{ metadata.customer.id }}"}))
        result = run(tmp_path, target=target, max_turns=1, more="metadata: {customer: {id: 42}}")
        assert [request.json for request in server.requests] == [{"of": 42}]
        lacking = run(tmp_path, target=target, max_turns=1)
    assert result.transcript.turns[0].reply.text == "echo 42"
    assert (lacking.outcome, lacking.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "the scenario's `metadata` has no `customer`" in lacking.reason


def test_an_argument_that_a_service_does_not_report_is_not_a_wrong_one(tmp_path: Path) -> None:
    answer = {"text": "echo 1", "calls": [{"name": "book", "argz": {"room": 2}}]}
    usage = "tool_usage: {tool_call_criteria: [{tool: book, assertions: [{args: {room: 2}}]}]}"
    with AgentServer(lambda request: answer) as server:
        target = HttpAgent(HttpTarget(url=server.url, tool_calls="calls"))
        result = run(tmp_path, target=target, max_turns=1, more=f"  {usage}")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "does not report the arguments of its call of book in turn 1" in result.reason
