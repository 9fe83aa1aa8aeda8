from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from pytest_convoprobe.conversation.loop import Conversation, Limits
from pytest_convoprobe.conversation.port import Status, UserMessage
from pytest_convoprobe.errors import (
    BudgetExceeded,
    ConvoprobeError,
    LLMUnavailable,
    SimulatorError,
    TargetCrashed,
    TargetUnavailable,
    TurnTimeout,
)
from pytest_convoprobe.transcript import Origin, Reply, Termination, ToolCall, Transcript

from .doubles import Chatty, Scripted, Stuck, Target

LIMITS = Limits(max_turns=10, turn_timeout=30)


def raising(error: BaseException) -> Target:
    def answer(message: str) -> str:
        raise error

    return Target(answer)


async def broken_off(conversation: Conversation, error: type[BaseException]) -> Transcript:
    with pytest.raises(error):
        await conversation.run()
    return conversation.transcript


async def test_the_last_words_are_sent_answered_and_kept() -> None:
    target = Target()
    conversation = Conversation(
        Scripted("where is it?", UserMessage("Ah, thanks. Bye!", Status.DONE)), target, LIMITS
    )
    await conversation.run()
    assert target.received == ["where is it?", "Ah, thanks. Bye!"]
    assert conversation.transcript.turns[-1].reply.text == "re: Ah, thanks. Bye!"
    assert conversation.transcript.termination is Termination.USER_DONE


async def test_no_user_call_after_the_last_words() -> None:
    user = Scripted("hi", UserMessage("bye", Status.DONE))
    await Conversation(user, Target(), LIMITS).run()
    assert user.calls == 2


async def test_a_user_that_gives_up() -> None:
    conversation = Conversation(Scripted("hi", UserMessage("Forget it.", Status.GAVE_UP)), Target(), LIMITS)
    await conversation.run()
    assert conversation.transcript.termination is Termination.USER_GAVE_UP


async def test_max_turns_ends_after_the_reply_without_another_user_call() -> None:
    user, target = Chatty(), Target()
    conversation = Conversation(user, target, Limits(max_turns=3))
    await conversation.run()
    assert (user.calls, len(target.received)) == (3, 3)
    assert conversation.transcript.termination is Termination.MAX_TURNS


async def test_a_user_that_is_done_in_the_last_turn_is_done() -> None:
    conversation = Conversation(
        Scripted("hi", UserMessage("bye", Status.DONE)), Target(), Limits(max_turns=2)
    )
    await conversation.run()
    assert conversation.transcript.termination is Termination.USER_DONE


async def test_going_in_circles_ends_the_talk() -> None:
    target = Target(lambda message: "I don't understand.")
    conversation = Conversation(Scripted("hi", "again", "again", "again"), target, LIMITS)
    await conversation.run()
    assert conversation.transcript.termination is Termination.LOOP
    assert len(conversation.transcript.turns) == 4


async def test_an_empty_reply_is_kept_and_the_talk_goes_on() -> None:
    target = Target(lambda message: "")
    conversation = Conversation(Scripted("hi", UserMessage("hello?", Status.DONE)), target, LIMITS)
    await conversation.run()
    assert [turn.reply.text for turn in conversation.transcript.turns] == ["", ""]


async def test_turns_hold_number_origin_reply_and_latency() -> None:
    reply = Reply("sunny", (ToolCall("get_weather"),))
    ticks = iter([10.0, 10.25, 20.0, 21.5])
    user = Scripted(UserMessage("weather?", origin=Origin.INITIAL), UserMessage("and?", Status.DONE))
    conversation = Conversation(user, Target(lambda message: reply), LIMITS, clock=lambda: next(ticks))
    await conversation.run()
    first, second = conversation.transcript.turns
    assert (first.number, first.origin, first.reply, first.latency) == (1, Origin.INITIAL, reply, 0.25)
    assert (second.number, second.origin, second.latency) == (2, Origin.SIMULATED, 1.5)


async def test_the_transcript_can_be_read_while_the_target_answers() -> None:
    seen: list[Transcript] = []
    target = Target(lambda message: seen.append(conversation.transcript) or "ok")  # type: ignore[func-returns-value]
    conversation = Conversation(Scripted("one", UserMessage("two", Status.DONE)), target, LIMITS)
    await conversation.run()
    assert [(len(part.turns), part.pending, part.termination) for part in seen] == [
        (0, "one", None),
        (1, "two", None),
    ]


@pytest.mark.parametrize(
    ("error", "termination"),
    [
        (TargetCrashed("boom"), Termination.TARGET_ERROR),
        (TargetUnavailable("away"), Termination.INFRASTRUCTURE_ERROR),
        (LLMUnavailable("503"), Termination.INFRASTRUCTURE_ERROR),
        (BudgetExceeded("spent"), Termination.BUDGET),
    ],
)
async def test_an_error_of_the_target_is_raised_with_its_termination(
    error: ConvoprobeError, termination: Termination
) -> None:
    transcript = await broken_off(Conversation(Chatty(), raising(error), LIMITS), type(error))
    assert (transcript.termination, transcript.pending, transcript.turns) == (termination, "message 1", ())


@pytest.mark.parametrize(
    ("error", "termination"),
    [
        (SimulatorError("off the rails"), Termination.SIMULATOR_ERROR),
        (LLMUnavailable("503"), Termination.INFRASTRUCTURE_ERROR),
        (BudgetExceeded("spent"), Termination.BUDGET),
    ],
)
async def test_an_error_of_the_user_keeps_the_finished_turns(
    error: ConvoprobeError, termination: Termination
) -> None:
    transcript = await broken_off(Conversation(Scripted("hi", error), Target(), LIMITS), type(error))
    assert transcript.termination is termination
    assert [turn.user for turn in transcript.turns] == ["hi"]
    assert transcript.pending is None


async def test_a_defect_leaves_a_termination_too() -> None:
    transcript = await broken_off(
        Conversation(Chatty(), raising(ZeroDivisionError()), LIMITS), ZeroDivisionError
    )
    assert transcript.termination is Termination.INFRASTRUCTURE_ERROR


async def test_a_target_that_never_answers() -> None:
    target = Stuck()
    conversation = Conversation(Chatty(), target, Limits(10, turn_timeout=0.01))
    with pytest.raises(TurnTimeout, match=r"^turn 1: waited 0\.01 s for the target, .* run\.turn_timeout"):
        await conversation.run()
    assert conversation.transcript.termination is Termination.TIMEOUT
    assert conversation.transcript.pending == "message 1"
    assert target.cancelled


async def test_a_user_that_never_answers() -> None:
    conversation = Conversation(Stuck(), Target(), Limits(10, turn_timeout=0.01))
    with pytest.raises(TurnTimeout, match=r"^turn 1: waited 0\.01 s for the synthetic user"):
        await conversation.run()
    assert conversation.transcript.termination is Termination.TIMEOUT


async def test_cancelling_is_noted_and_goes_on() -> None:
    target = Stuck()
    conversation = Conversation(Chatty(), target, LIMITS)
    task = asyncio.ensure_future(conversation.run())
    await target.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert conversation.transcript.termination is Termination.CANCELLED
    assert conversation.transcript.pending == "message 1"


async def test_a_timeout_error_of_the_target_itself_is_not_taken_for_ours() -> None:
    conversation = Conversation(Chatty(), raising(asyncio.TimeoutError()), LIMITS)
    await broken_off(conversation, asyncio.TimeoutError)
    assert conversation.transcript.termination is Termination.INFRASTRUCTURE_ERROR


async def test_a_target_that_turns_the_time_limit_into_a_crash_has_still_timed_out() -> None:
    class Converting(Stuck):
        async def send(self, message: str) -> Reply:
            try:
                return await super().send(message)
            except asyncio.CancelledError:
                raise TargetCrashed("CancelledError") from None

    await broken_off(Conversation(Chatty(), Converting(), Limits(10, turn_timeout=0.01)), TurnTimeout)


async def test_all_turns_run_in_one_task_with_one_context() -> None:
    session: ContextVar[int] = ContextVar("session", default=0)
    tasks = set()

    def answer(message: str) -> str:
        tasks.add(asyncio.current_task())
        session.set(session.get() + 1)
        return str(session.get())

    conversation = Conversation(Chatty(), Target(answer), Limits(3))
    await conversation.run()
    assert [turn.reply.text for turn in conversation.transcript.turns] == ["1", "2", "3"]
    assert tasks == {asyncio.current_task()}


@pytest.mark.parametrize(
    ("status", "ended"),
    [(Status.DONE, Termination.USER_DONE), (Status.GAVE_UP, Termination.USER_GAVE_UP)],
)
async def test_a_user_that_leaves_without_a_word_sends_nothing(status: Status, ended: Termination) -> None:
    target = Target()
    conversation = Conversation(Scripted("hi", UserMessage(" ", status)), target, LIMITS)
    await conversation.run()
    assert target.received == ["hi"]
    assert (conversation.transcript.termination, conversation.transcript.pending) == (ended, None)
