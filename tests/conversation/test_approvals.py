"""An agent that waits for a person within a turn: who answers, and what the turn has in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_convoprobe.conversation.loop import Conversation, Limits
from pytest_convoprobe.conversation.port import UserMessage
from pytest_convoprobe.conversation.simulated import SimulatedUser
from pytest_convoprobe.conversation.user import ScenarioUser, persona_values
from pytest_convoprobe.errors import (
    ConvoprobeError,
    ScenarioError,
    TargetCrashed,
    TargetStartError,
    TargetUnavailable,
)
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.runs.approving import ScenarioApprover
from pytest_convoprobe.scenario.models import SyntheticUser
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.hosted import hosted
from pytest_convoprobe.targets.port import ConversationContext, TargetConversation
from pytest_convoprobe.targets.starting import starting_up
from pytest_convoprobe.transcript import PendingRequest, Reply, Termination, ToolCall, Transcript, Turn, Usage

Answer = Reply | Exception


def asks(tool: str = "refund", number: int = 1, **arguments: Any) -> PendingRequest:
    return PendingRequest(str(number), tool=tool, text=f"May I {tool}?", arguments=arguments)


def question(text: str, *choices: str) -> PendingRequest:
    return PendingRequest("q", "question", text, choices=choices)


class Waits:
    """Gives its answers one after the other, and keeps what it was sent and how it was resumed."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.messages: list[str] = []
        self.answered: list[list[tuple[str, str | None]]] = []

    async def send(self, message: str) -> Reply:
        self.messages.append(message)
        return self._next()

    async def resume(self, answered: Sequence[PendingRequest]) -> Reply:
        self.answered.append([(one.tool or one.text, one.answer) for one in answered])
        return self._next()

    async def aclose(self) -> None: ...

    def _next(self) -> Reply:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def person(**fields: Any) -> SyntheticUser:
    return SyntheticUser.model_validate({"persona": "A buyer", "initial_query": "Refund!", **fields})


def conversation(target: TargetConversation, **fields: Any) -> Conversation:
    user = person(**{"script": ["thanks"], **fields})
    simulated = SimulatedUser(FakeLLM(()), ModelSettings(model="openai/fake"), values=persona_values(user))
    approver = ScenarioApprover(user)
    return Conversation(ScenarioUser(user, simulated), target, Limits(user.max_turns), approver=approver)


async def talk(target: TargetConversation, **fields: Any) -> tuple[Turn, ...]:
    running = conversation(target, **fields)
    await running.run()
    return running.transcript.turns


async def broken_off(target: TargetConversation, **fields: Any) -> tuple[Transcript, ConvoprobeError]:
    running = conversation(target, **fields)
    with pytest.raises(ConvoprobeError) as raised:
        await running.run()
    return running.transcript, raised.value


class Opening:
    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        return UserMessage("Refund!")


LOOKED_UP = ToolCall("find_order", {"id": "A-1"}, result="shipped")
REFUNDED = ToolCall("refund", result="done")
BYE = Reply("Bye.", ())


async def test_an_approval_is_answered_within_the_turn_and_the_reply_is_one() -> None:
    target = Waits(
        Reply("I look it up.", (LOOKED_UP,), Usage(10, 1), thoughts="hm", pending=(asks(),)),
        Reply("It is refunded.", (REFUNDED,), Usage(20, 2), thoughts="good"),
        BYE,
    )
    first, _ = await talk(target, approvals="approve")
    assert target.messages == ["Refund!", "thanks"]
    assert target.answered == [[("refund", "approve")]]
    assert first.reply.text == "I look it up.\n\nIt is refunded."
    assert first.reply.tool_calls == (LOOKED_UP, REFUNDED)
    assert first.reply.usage == Usage(30, 3)
    assert first.reply.thoughts == "hm\n\ngood"
    assert [(one.answer, one.after) for one in first.reply.pending] == [("approve", 1)]


async def test_the_first_rule_that_fits_counts_and_its_reason_goes_with_it() -> None:
    rules = [
        {"tool": "refund", "args": {"amount": {"equals": 500}}, "answer": "reject", "reason": "too much"},
        {"tool": "refund", "answer": "approve"},
        {"tool": "*", "answer": "Do as you think"},
    ]
    waiting = (asks(amount=500), asks(amount=5, number=2), asks("mail", 3), question("Which size?"))
    target = Waits(Reply("", (), pending=waiting), Reply("done", ()), BYE)
    first, _ = await talk(target, approvals=rules)
    assert target.answered == [
        [
            ("refund", "reject"),
            ("refund", "approve"),
            ("mail", "Do as you think"),
            ("Which size?", "Do as you think"),
        ]
    ]
    assert first.reply.pending[0].reason == "too much"


async def test_the_items_of_a_script_answer_one_pause_each_before_the_rules() -> None:
    pauses = [Reply("", (), pending=(asks(number=number),)) for number in (1, 2, 3)]
    target = Waits(*pauses, Reply("done", ()), BYE)
    script = [{"answer": "approve"}, {"answer": "reject", "reason": "Stop"}, "thanks"]
    turns = await talk(target, script=script, approvals=[{"tool": "refund", "answer": "Ask my boss"}])
    assert [answer for ((_, answer),) in target.answered] == ["approve", "reject", "Ask my boss"]
    assert [turn.user for turn in turns] == ["Refund!", "thanks"]


async def test_answers_belong_to_the_message_before_them() -> None:
    target = Waits(Reply("Hello.", ()), Reply("", (), pending=(asks(),)), Reply("done", ()))
    turns = await talk(target, script=["Do it", {"answer": "approve"}])
    assert [len(turn.reply.pending) for turn in turns] == [0, 1]


async def test_a_script_of_answers_ends_with_the_opening() -> None:
    target = Waits(Reply("", (), pending=(asks(),)), Reply("done", ()))
    running = conversation(target, script=[{"answer": "approve"}])
    await running.run()
    assert (len(running.transcript.turns), running.transcript.termination) == (1, Termination.USER_DONE)


async def test_a_refused_call_was_not_carried_out_whether_the_agent_reports_it_or_not() -> None:
    waiting = asks(amount=3)
    target = Waits(Reply("", (), pending=(waiting,)), Reply("I won't.", ()), BYE)
    first, _ = await talk(target, approvals=[{"tool": "*", "answer": "reject", "reason": "No"}])
    (call,) = first.reply.tool_calls or ()
    assert (call.name, call.arguments, call.executed) == ("refund", {"amount": 3}, False)
    own = ToolCall("refund", {"amount": 3}, executed=False, id="1")
    target = Waits(Reply("", (), pending=(waiting,)), Reply("I won't.", (own,)), BYE)
    first, _ = await talk(target, approvals="reject")
    assert first.reply.tool_calls == (own,)


async def test_an_agent_that_does_what_was_refused_is_believed() -> None:
    did = ToolCall("refund", result="done", id="1")
    target = Waits(Reply("", (), pending=(asks(),)), Reply("Refunded.", (did,)), BYE)
    first, _ = await talk(target, approvals="reject")
    assert [call.executed for call in first.reply.tool_calls or ()] == [True]


async def test_an_approval_that_nothing_answers_is_an_error_of_the_scenario() -> None:
    rules = [{"tool": "delete_*", "answer": "approve"}]
    waits = Reply("Wait.", (LOOKED_UP,), Usage(5, 5), pending=(asks(amount=3),))
    transcript, error = await broken_off(Waits(waits), approvals=rules)
    assert isinstance(error, ScenarioError)
    assert 'waits for a permission that nothing answers: refund({"amount": 3})' in str(error)
    assert "synthetic_user.approvals" in str(error)
    assert (transcript.pending, transcript.pending_calls) == ("Refund!", (LOOKED_UP,))
    assert [one.answer for one in transcript.pending_requests] == [None]
    assert transcript.pending_usage == Usage(5, 5)


async def test_where_nobody_can_answer_the_error_says_so() -> None:
    # A benchmark has no scenario that could.
    running = Conversation(Opening(), Waits(Reply("", (), pending=(asks(),))), Limits(1))
    with pytest.raises(ScenarioError, match="Here nobody can give it"):
        await running.run()


async def test_a_question_is_the_reply_and_the_next_message_answers_it() -> None:
    target = Waits(Reply("", (), pending=(question("Which size?", "S", "L"),)), BYE)
    first, _ = await talk(target, approvals="approve")
    assert first.reply.text == "Which size?\n- S\n- L"
    assert (target.messages, target.answered) == (["Refund!", "thanks"], [])


async def test_a_question_beside_an_answered_approval_is_answered_with_it() -> None:
    target = Waits(Reply("", (), pending=(asks(), question("Which size?"))), Reply("done", ()))
    await talk(target, approvals="approve")
    assert target.messages == ["Refund!"]
    assert target.answered == [[("refund", "approve"), ("Which size?", "thanks")]]


async def test_what_was_done_before_a_crash_is_kept_from_all_rounds() -> None:
    crash = TargetCrashed("boom", tool_calls=(REFUNDED,), usage=Usage(1, 1))
    target = Waits(Reply("", (LOOKED_UP,), Usage(5, 5), pending=(asks(),)), crash)
    transcript, _ = await broken_off(target, approvals="approve")
    assert transcript.pending_calls == (LOOKED_UP, REFUNDED)
    (asked,) = transcript.pending_requests
    assert (asked.tool, asked.answer, asked.after) == ("refund", "approve", 1)
    assert transcript.pending_usage == Usage(6, 6)


async def test_an_agent_that_waits_without_end_is_stopped() -> None:
    target = Waits(*[Reply("", (), pending=(asks(),))] * 30)
    _, error = await broken_off(target, approvals="approve")
    assert isinstance(error, ScenarioError)
    assert len(target.answered) == 20


class Agent:
    """Of a project: answers in plain data, and takes the answers in a thread."""

    def __init__(self) -> None:
        self.asked = 0

    def reply(self, message: str) -> dict[str, Any]:
        waiting = {"id": "7", "tool": "refund", "args": {"amount": 3}}
        return {"text": "Wait.", "tool_calls": [], "pending": [waiting]}

    def resume(self, answered: Sequence[PendingRequest]) -> dict[str, Any]:
        (one,) = answered
        calls = [{"name": one.tool, "arguments": one.arguments, "result": one.answer, "id": one.id}]
        return {"text": "Done.", "tool_calls": calls}


class Remote:
    """A target of a project, whose conversations have the method."""

    name = "remote"

    async def start(self, context: ConversationContext) -> Waits:
        return Waits(Reply("Wait.", (), pending=(asks(),)), Reply("Done.", (REFUNDED,)), BYE)

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("kind", [Agent, Remote])
async def test_objects_of_the_project_take_the_answers(kind: type) -> None:
    target = hosted(as_target(kind))
    opened = await target.start(ConversationContext("c", FakeLLM(())))
    try:
        turns = await talk(opened, approvals="approve", script=[{"answer": "approve"}])
    finally:
        await opened.aclose()
    assert turns[0].reply.text == "Wait.\n\nDone."
    assert [call.name for call in turns[0].reply.tool_calls or ()] == ["refund"]


async def test_an_agent_that_cannot_take_answers_is_wired_wrongly() -> None:
    opened = await hosted(as_target(lambda message: Reply("", (), pending=(asks(),)))).start(
        ConversationContext("c", FakeLLM(()))
    )
    _, error = await broken_off(opened, approvals="approve")
    await opened.aclose()
    assert isinstance(error, TargetStartError)
    assert "`resume(answered)`" in str(error)


async def test_a_reply_in_several_parts_keeps_no_more_text_than_one() -> None:
    target = Waits(Reply("a" * 80, (), pending=(asks(),)), Reply("b" * 80, ()))
    user = person(script=[{"answer": "approve"}])
    simulated = SimulatedUser(FakeLLM(()), ModelSettings(model="openai/fake"), values=persona_values(user))
    limits = Limits(1, max_text=100)
    running = Conversation(ScenarioUser(user, simulated), target, limits, approver=ScenarioApprover(user))
    await running.run()
    (turn,) = running.transcript.turns
    assert len(turn.reply.text) <= 100
    assert turn.reply.cut == ("text",)


async def test_what_is_started_for_a_message_takes_no_time_of_the_turn() -> None:
    class Starts(Waits):
        async def send(self, message: str) -> Reply:
            async with starting_up("the server", 60) as start_up:
                await asyncio.sleep(0.3)
            return Reply("Hello.", (), startup=start_up.seconds)

    user = person(max_turns=1)
    simulated = SimulatedUser(FakeLLM(()), ModelSettings(model="openai/fake"), values=persona_values(user))
    running = Conversation(ScenarioUser(user, simulated), Starts(), Limits(1, turn_timeout=0.2))
    await running.run()
    (turn,) = running.transcript.turns
    assert turn.reply.startup >= 0.3
    assert turn.latency < turn.reply.startup


async def test_a_start_that_takes_too_long_is_no_fault_of_the_agents() -> None:
    with pytest.raises(TargetUnavailable, match="the server did not start within"):
        async with starting_up("the server", 0.01):
            await asyncio.sleep(30)
