"""What every implementation of the port does: the shipped fake, and both lanes against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from pytest_convoprobe.errors import LLMRejected, LLMUnavailable
from pytest_convoprobe.llm.direct import Direct
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.litellm_adapter import LiteLLM
from pytest_convoprobe.llm.port import LLM, LLMReply, LLMRequest, ToolRequest, ToolSpec
from pytest_convoprobe.settings.model_settings import ModelSettings
from tests.support.chat_server import ChatServer, Completion

from .requests import request, settings

Ask = Callable[..., LLMRequest]
Made = Callable[[str], AbstractAsyncContextManager[tuple[LLM, ModelSettings]]]


@asynccontextmanager
async def _fake(behaviour: str) -> AsyncIterator[tuple[LLM, ModelSettings]]:
    answers = {
        "text": lambda asked: asked.messages[-1].content.upper(),
        "tools": lambda _: LLMReply("", (ToolRequest("c1", "look_up", '{"order": 7}'),)),
        "empty": lambda _: "",
        "rejected": lambda _: LLMRejected("no such key"),
        "unavailable": lambda _: LLMUnavailable("overloaded", status=503),
    }
    llm = FakeLLM(answers[behaviour])
    yield llm, settings()
    await llm.aclose()


def _litellm(behaviour: str) -> AbstractAsyncContextManager[tuple[LLM, ModelSettings]]:
    return _called(LiteLLM(), behaviour)


def _direct(behaviour: str) -> AbstractAsyncContextManager[tuple[LLM, ModelSettings]]:
    return _called(Direct(), behaviour)


@asynccontextmanager
async def _called(llm: LLM, behaviour: str) -> AsyncIterator[tuple[LLM, ModelSettings]]:
    answers = {
        "text": lambda body: body["messages"][-1]["content"].upper(),
        "tools": lambda _: Completion(None, tool_calls=(("look_up", '{"order": 7}'),)),
        "empty": lambda _: "",
    }
    faults = {"rejected": ["401"], "unavailable": ["503"]}
    with ChatServer(answers.get(behaviour), faults=faults.get(behaviour, ())) as server:
        yield llm, settings(api_base=server.base_url)
        await llm.aclose()


@pytest.fixture(params=[_fake, _litellm, _direct], ids=["fake", "litellm", "direct"])
def made(request: pytest.FixtureRequest) -> Made:
    return request.param  # type: ignore[no-any-return]


async def test_the_last_message_is_answered(made: Made) -> None:
    async with made("text") as (llm, model):
        assert (await llm.complete(request("hello", model=model))).text == "HELLO"


async def test_many_calls_at_once_each_get_their_own_reply(made: Made) -> None:
    async with made("text") as (llm, model):
        words = [f"word {number}" for number in range(20)]
        replies = await asyncio.gather(*(llm.complete(request(word, model=model)) for word in words))
        assert [reply.text for reply in replies] == [word.upper() for word in words]


async def test_a_reply_tells_its_finish_and_one_attempt(made: Made) -> None:
    async with made("text") as (llm, model):
        reply = await llm.complete(request(model=model))
        assert (reply.finish_reason, reply.attempts, reply.replayed) == ("stop", 1, False)


async def test_tool_requests_come_as_the_model_wrote_them(made: Made) -> None:
    spec = ToolSpec("look_up", "finds an order", {"type": "object", "properties": {}})
    async with made("tools") as (llm, model):
        [asked] = (await llm.complete(request(model=model, tools=(spec,)))).tool_requests
        assert (asked.name, asked.arguments) == ("look_up", '{"order": 7}')
        assert asked.id


async def test_an_empty_reply_is_a_reply(made: Made) -> None:
    async with made("empty") as (llm, model):
        assert (await llm.complete(request(model=model))).text == ""


async def test_a_final_no_is_rejected(made: Made) -> None:
    async with made("rejected") as (llm, model):
        with pytest.raises(LLMRejected, match="key"):
            await llm.complete(request(model=model))


async def test_a_passing_fault_is_unavailable(made: Made) -> None:
    async with made("unavailable") as (llm, model):
        with pytest.raises(LLMUnavailable) as error:
            await llm.complete(request(model=model))
        assert error.value.status == 503


async def test_a_cancelled_call_leaves_the_next_one_alone(made: Made) -> None:
    async with made("text") as (llm, model):
        call = asyncio.ensure_future(llm.complete(request(model=model)))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await llm.complete(request("again", model=model))).text == "AGAIN"


async def test_closing_twice_does_no_harm(made: Made) -> None:
    async with made("text") as (llm, model):
        await llm.complete(request(model=model))
        await llm.aclose()
        await llm.aclose()
