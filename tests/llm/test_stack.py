"""All layers together, against a real server."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_convoprobe.errors import BudgetExceeded, LLMUnavailable, SettingsError
from pytest_convoprobe.llm.budget import Budget
from pytest_convoprobe.llm.port import LLMRequest
from pytest_convoprobe.llm.stack import LiveLLM, build_llm
from pytest_convoprobe.llm.structured import ask
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.settings.models import RunSettings
from tests.support.chat_server import ChatServer, Fault

from .requests import request, settings


@pytest.fixture
async def budget() -> Budget:
    return Budget()


@pytest.fixture
async def llm(budget: Budget) -> AsyncIterator[LiveLLM]:
    live = build_llm(RunSettings(concurrency=50), Redactor(environ={}), budget)
    yield live
    await live.aclose()


def to(server: ChatServer, text: str = "hello", **fields: Any) -> LLMRequest:
    return request(text, model=settings(api_base=server.base_url, **fields))


async def test_a_flaky_provider_gives_the_same_replies_as_a_sound_one(llm: LiveLLM) -> None:
    words = [f"question {number}" for number in range(120)]
    with ChatServer(rates={"429": 0.2, "500": 0.05}, seed=5) as server:
        replies = await asyncio.gather(*(llm.complete(to(server, word)) for word in words))
        assert [reply.text for reply in replies] == [f"Answer 1 to: {word}" for word in words]
        assert sum(reply.attempts for reply in replies) == len(server.requests) > len(words)


async def test_the_first_wave_is_as_large_as_the_concurrency(llm: LiveLLM) -> None:
    with ChatServer(latency=0.05) as server:
        await asyncio.gather(*(llm.complete(to(server)) for _ in range(60)))
        first_answer = min(sent.finished or 0.0 for sent in server.requests)
        wave = [sent for sent in server.requests if sent.started < first_answer]
        assert 16 < len(wave) <= 50
        assert len(server.requests) == 60


async def test_failed_attempts_are_followed_by_a_check_of_the_budget(llm: LiveLLM, budget: Budget) -> None:
    budget.max_tokens = 40
    with ChatServer() as server:
        for _ in range(3):
            await llm.complete(to(server))
        with pytest.raises(BudgetExceeded, match=r"45 tokens spent of run\.max_tokens 40"):
            await llm.complete(to(server))
        assert len(server.requests) == 3


async def test_a_limit_on_money_and_no_price_make_no_call(llm: LiveLLM, budget: Budget) -> None:
    budget.max_cost = 1.0
    with ChatServer() as server:
        with pytest.raises(SettingsError, match="price of openai/fake is unknown"):
            await llm.complete(to(server))
        assert server.requests == []


async def test_a_limit_on_money_with_own_prices(llm: LiveLLM, budget: Budget) -> None:
    budget.max_cost = 1.0
    with ChatServer() as server:
        priced = to(server, input_cost_per_token=0.1, output_cost_per_token=0.1)
        await llm.complete(priced)
        with pytest.raises(BudgetExceeded, match=r"\$1\.50 spent of run\.max_cost 1"):
            await llm.complete(priced)


class Mood(BaseModel):
    mood: str


@pytest.mark.parametrize("refuses", [(), ("response_format",)], ids=["schema", "text"])
async def test_structured_replies_survive_faults(llm: LiveLLM, refuses: tuple[str, ...]) -> None:
    faults = ["500", "empty", "garbage", None]
    with ChatServer(lambda _: '{"mood": "calm"}', faults=faults, refuses=refuses) as server:
        assert (await ask(llm, to(server), Mood)).mood == "calm"


async def test_a_cut_reply_is_asked_for_with_more_room(llm: LiveLLM) -> None:
    with ChatServer(lambda _: '{"mood": "calm"}', faults=["length"]) as server:
        assert await ask(llm, to(server, max_tokens=10), Mood)
        assert [body["max_tokens"] for body in server.bodies] == [10, 4096]


@pytest.mark.parametrize("count", [1.5, "x"])
async def test_a_usage_that_cannot_be_read_is_paid_for_and_warns_nobody(
    llm: LiveLLM, budget: Budget, count: object
) -> None:
    message = {"role": "assistant", "content": "hi"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice]}
    body = json.dumps({**head, "usage": {"prompt_tokens": count, "completion_tokens": 2}})
    with ChatServer([Fault("odd", body=body)]) as server, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(LLMUnavailable, match="is not in the form of chat completions") as caught:
            await llm.complete(to(server, max_attempts=1))
    assert caught.value.cost is None
    assert budget.spent.tokens > 0
    assert [str(one.message) for one in warned if "erializ" in str(one.message)] == []
