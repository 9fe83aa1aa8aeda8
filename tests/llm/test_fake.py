from __future__ import annotations

import asyncio

import pytest

from pytest_convoprobe.errors import LLMRejected
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMReply, LLMRequest

from .requests import request


async def test_a_list_answers_in_order_and_raises_exceptions() -> None:
    llm = FakeLLM(["one", LLMReply("two"), LLMRejected("no")])
    assert [(await llm.complete(request())).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(LLMRejected, match="no"):
        await llm.complete(request())


async def test_an_async_function_is_awaited() -> None:
    async def answer(asked: LLMRequest) -> str:
        await asyncio.sleep(0)
        return asked.messages[-1].content.upper()

    llm = FakeLLM(answer)
    assert (await llm.complete(request("hi"))).text == "HI"
    assert [asked.messages[-1].content for asked in llm.requests] == ["hi"]


async def test_an_exhausted_list_names_the_role() -> None:
    with pytest.raises(AssertionError, match="no answer left for this call of the judge"):
        await FakeLLM([]).complete(request())
