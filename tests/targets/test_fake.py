from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_convoprobe.errors import TargetUnavailable
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, ToolCall

Context = Callable[..., ConversationContext]


async def test_one_answer_is_given_again_and_again(context: Context) -> None:
    talk = await FakeTarget("Yes.").start(context())
    assert [(await talk.send(text)).text for text in "ab"] == ["Yes.", "Yes."]


async def test_answers_of_a_list_are_given_in_order_and_the_last_one_repeated(context: Context) -> None:
    talk = await FakeTarget(["one", Reply("two")]).start(context())
    assert [(await talk.send("x")).text for _ in range(3)] == ["one", "two", "two"]


async def test_a_function_gets_message_and_turn(context: Context) -> None:
    talk = await FakeTarget(lambda message, turn: f"{turn} {message}").start(context())
    assert [(await talk.send(text)).text for text in "ab"] == ["1 a", "2 b"]


async def test_an_async_function_is_awaited(context: Context) -> None:
    async def answer(message: str, turn: int) -> Reply:
        return Reply(message, (ToolCall("look_up"),))

    talk = await FakeTarget(answer).start(context())
    assert await talk.send("x") == Reply("x", (ToolCall("look_up"),))


async def test_an_exception_is_raised(context: Context) -> None:
    talk = await FakeTarget([TargetUnavailable("away")]).start(context())
    with pytest.raises(TargetUnavailable, match="away"):
        await talk.send("x")


async def test_remembers_what_it_was_asked_and_that_it_was_closed(context: Context) -> None:
    target = FakeTarget()
    talk = await target.start(context())
    await talk.send("hello")
    await talk.aclose()
    await target.aclose()
    (remembered,) = target.conversations
    assert (remembered.messages, remembered.closed, target.closed) == (["hello"], True, True)
