"""What an agent did for a message that got no reply: it crashed, or its time was up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from pytest_convoprobe.errors import TargetCrashed
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.hosted import hosted
from pytest_convoprobe.targets.port import ConversationContext, calls_so_far, usage_so_far
from pytest_convoprobe.transcript import ToolCall, Usage

PAID = (ToolCall("pay", {"sum": 3}, "ok"),)


class Keeps:
    """Remembers its calls, in a list of mappings."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def pay(self) -> None:
        self.calls.append({"name": "pay", "arguments": {"sum": 3}, "result": "ok"})

    def calls_so_far(self) -> list[dict[str, Any]]:
        return self.calls


class Raises(Keeps):
    def __call__(self, message: str) -> str:
        self.pay()
        raise RuntimeError("lost")


class RaisesLater(Keeps):
    async def __call__(self, message: str) -> str:
        self.pay()
        raise RuntimeError("lost")


class Hangs(Keeps):
    def __call__(self, message: str) -> str:
        self.pay()
        while True:
            time.sleep(0.01)


class Waits(Keeps):
    async def reply(self, message: str) -> str:
        self.pay()
        await asyncio.sleep(3600)
        return ""


class Agent:
    """A target of the project's own."""

    name = "mine"

    def __init__(self, kind: type[Keeps]) -> None:
        self.kind = kind

    async def start(self, context: ConversationContext) -> Any:
        agent: Any = self.kind()
        agent.send = agent.__call__ if callable(agent) else agent.reply
        agent.aclose = self.aclose
        return agent

    async def aclose(self) -> None:
        pass


async def broken_off(target: object, context: ConversationContext) -> tuple[ToolCall, ...]:
    conversation = await hosted(as_target(target)).start(context)
    try:
        sending = asyncio.ensure_future(conversation.send("hello"))
        await asyncio.wait((sending,), timeout=0.3)
        sending.cancel()
        with pytest.raises((TargetCrashed, RuntimeError, asyncio.CancelledError)):
            await sending
        return calls_so_far(conversation)
    finally:
        await conversation.aclose()


@pytest.mark.parametrize("kind", [Raises, RaisesLater, Hangs, Waits])
async def test_an_object_is_asked_for_them(
    context: Callable[..., ConversationContext], kind: type[Keeps]
) -> None:
    assert await broken_off(kind, context()) == PAID


@pytest.mark.parametrize("kind", [RaisesLater, Waits])
async def test_so_is_the_conversation_of_a_target(
    context: Callable[..., ConversationContext], kind: type[Keeps]
) -> None:
    assert await broken_off(Agent(kind), context()) == PAID


@pytest.mark.parametrize("answer", [None, "pay", [{"nam": "pay"}], 3])
async def test_an_answer_that_cannot_be_read_hides_no_error(
    context: Callable[..., ConversationContext], answer: object
) -> None:
    kind = type("Odd", (Raises,), {"calls_so_far": lambda self: answer})
    assert await broken_off(kind, context()) == ()


class Counts(RaisesLater):
    def usage_so_far(self) -> dict[str, int]:
        return {"input_tokens": 7, "output_tokens": 2}


@pytest.mark.parametrize("target", [Counts, Agent(Counts)])
async def test_tokens_are_asked_for_too(context: Callable[..., ConversationContext], target: object) -> None:
    conversation = await hosted(as_target(target)).start(context())
    with pytest.raises((TargetCrashed, RuntimeError)):
        await conversation.send("hello")
    assert usage_so_far(conversation) == Usage(7, 2)
    await conversation.aclose()


class BaseExceptionGroup(Exception):
    def __init__(self, *parts: BaseException) -> None:
        self.exceptions = parts
        super().__init__("in a task group")


class InGroup(Keeps):
    async def __call__(self, message: str) -> str:
        raise BaseExceptionGroup(
            TargetCrashed("boom", tool_calls=[("pay", {"sum": 3}, "ok")], usage=Usage(1, 1))
        )


@pytest.mark.parametrize("target", [InGroup, Agent(InGroup)])
async def test_an_error_in_a_group_says_as_much(
    context: Callable[..., ConversationContext], target: object
) -> None:
    conversation = await hosted(as_target(target)).start(context())
    with pytest.raises(TargetCrashed, match="boom"):
        await conversation.send("hello")
    assert (calls_so_far(conversation), usage_so_far(conversation)) == (PAID, Usage(1, 1))
    await conversation.aclose()
