"""Agents that call models by way of the gateway: what a conversation knows of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import openai
import pytest

from pytest_convoprobe.conversation.loop import Limits
from pytest_convoprobe.conversation.port import Status, UserMessage
from pytest_convoprobe.errors import BudgetExceeded, SettingsError, TargetCrashed
from pytest_convoprobe.gateway.port import Wire
from pytest_convoprobe.llm.budget import Budget
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.ledger import Ledger, Spending
from pytest_convoprobe.llm.metered import Metered
from pytest_convoprobe.llm.port import Price, Role
from pytest_convoprobe.runs.conversation_host import ConversationHost
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, Termination, Transcript, Turn, Usage
from tests.support.chat_server import Completion
from tests.support.model_server import ModelServer

TOOL = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}
Answers = Callable[[openai.AsyncOpenAI, list[Any]], Awaitable[Reply]]


async def with_tools(client: openai.AsyncOpenAI, history: list[Any], model: str = "gpt-4o") -> Reply:
    """The usual loop of an agent: calls of tools until the model says something."""
    while True:
        done = await client.chat.completions.create(model=model, messages=history, tools=[TOOL])  # type: ignore[list-item]
        said = done.choices[0].message
        history.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return Reply(said.content or "")
        for call in said.tool_calls:
            history.append({"role": "tool", "tool_call_id": call.id, "content": "on its way"})


@dataclass
class Agent:
    """A target whose conversations have an SDK of their own at their address."""

    answers: Answers = with_tools
    name: str = "agent"
    retries: int = 0
    history: list[Any] = field(default_factory=list)

    async def start(self, context: ConversationContext) -> Agent:
        self.client = openai.AsyncOpenAI(
            base_url=f"{context.model_url}/v1", api_key="sk-test", max_retries=self.retries, timeout=20
        )
        return self

    async def send(self, message: str) -> Reply:
        self.history.append({"role": "user", "content": message})
        return await self.answers(self.client, self.history)

    async def aclose(self) -> None:
        await self.client.close()


class Says:
    """A user with these messages."""

    def __init__(self, messages: Sequence[str]) -> None:
        self._messages = messages

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        last = len(turns) == len(self._messages) - 1
        return UserMessage(self._messages[len(turns)], Status.DONE if last else Status.CONTINUE)


@dataclass
class Talk:
    """A conversation that has ended, and what it cost."""

    transcript: Transcript
    spending: dict[Role, Spending]
    error: BaseException | None
    tokens: int


async def talk(
    provider: ModelServer,
    *messages: str,
    agent: Agent | None = None,
    limits: Limits | None = None,
    budget: Budget | None = None,
    prices: Mapping[str, Price] = MappingProxyType({}),
) -> Talk:
    budget = budget or Budget()
    ledger, host, error = Ledger(), ConversationHost(), None
    metered = Metered(FakeLLM([]), ledger, budget)
    found: Any = None
    try:
        async with host.conversation(
            agent or Agent(),
            Says(messages),
            limits or Limits(5, turn_timeout=20),
            metered,
            "s",
            1,
            wire=Wire({"openai": f"{provider.url}/v1"}, prices=prices),
        ) as found:
            await found.run()
    except Exception as raised:  # noqa: BLE001 - what it was is what the tests look at
        error = raised
    await host.aclose()
    return Talk(found.transcript, ledger.by_role, error, budget.spent.tokens)


CALL = 'call lookup {"order": 7}'


async def test_calls_results_tokens_and_cost_are_those_of_the_wire() -> None:
    with ModelServer() as provider:
        done = await talk(provider, "hello", CALL)
    first, second = done.transcript.turns
    assert first.reply.tool_calls == ()
    (call,) = second.reply.tool_calls or ()
    assert (call.name, call.arguments, call.result, call.on_wire) == (
        "lookup",
        {"order": 7},
        "on its way",
        True,
    )
    seen = [wire for _, wire in done.transcript.wire]
    assert [len(one.calls) for one in seen] == [1, 2]
    usage = done.transcript.usage
    assert usage is not None
    assert usage.total > 0
    spent = done.spending[Role.AGENT]
    assert (spent.calls, spent.usage) == (3, usage)
    assert spent.cost == pytest.approx(sum(one.cost or 0 for one in seen))
    assert (spent.cost or 0) > 0
    assert Role.TARGET not in done.spending
    assert done.tokens == usage.total


async def test_a_call_on_the_wire_ends_the_conversation_like_a_reported_one() -> None:
    limits = Limits(5, turn_timeout=20, ends_with_tools=("look*",))
    with ModelServer() as provider:
        done = await talk(provider, CALL, "more", "and more", limits=limits)
    assert done.transcript.termination is Termination.AGENT_ENDED
    assert len(done.transcript.turns) == 1


async def test_an_agent_that_crashes_leaves_what_it_did() -> None:
    async def crash(client: openai.AsyncOpenAI, history: list[Any]) -> Reply:
        await with_tools(client, history)
        raise TargetCrashed("a bug")

    with ModelServer() as provider:
        done = await talk(provider, CALL, agent=Agent(crash))
    assert isinstance(done.error, TargetCrashed)
    assert [call.result for call in done.transcript.pending_calls] == ["on its way"]
    assert done.transcript.pending_usage == done.spending[Role.AGENT].usage


async def test_tokens_that_the_target_reports_too_count_once() -> None:
    async def reports(client: openai.AsyncOpenAI, history: list[Any]) -> Reply:
        reply = await with_tools(client, history)
        return Reply(reply.text, (), Usage(100_000, 0))

    with ModelServer() as provider:
        done = await talk(provider, CALL, agent=Agent(reports))
    assert sum(one.usage.prompt_tokens for one in done.spending.values()) == 100_000
    assert done.transcript.usage == Usage(100_000, 0)
    (wire,) = (wire for _, wire in done.transcript.wire)
    assert wire.remarks[0] == "the model asked for `lookup`, which the target does not report"
    assert wire.remarks[1].startswith("the target reports 100,000 tokens, but ")


async def test_an_sdk_that_tries_again_has_recovered() -> None:
    with ModelServer(faults=["500", "429:0"]) as provider:
        done = await talk(provider, CALL, agent=Agent(retries=3))
    (wire,) = (wire for _, wire in done.transcript.wire)
    assert [(bool(one.problem), one.lost) for one in wire.calls] == [(True, False)] * 2 + [(False, False)] * 2
    assert len(done.transcript.tool_calls) == 1
    assert done.transcript.usage is not None


async def test_a_provider_that_stays_away_is_lost() -> None:
    with ModelServer(faults=["500"] * 3) as provider:
        done = await talk(provider, CALL, agent=Agent(retries=1))
    assert done.transcript.pending_wire is not None
    assert [one.lost for one in done.transcript.pending_wire.calls] == [False, True]


async def test_a_stream_is_read_as_well() -> None:
    async def streams(client: openai.AsyncOpenAI, history: list[Any]) -> Reply:
        parts = await client.chat.completions.create(
            model="gpt-4o",
            messages=history,
            tools=[TOOL],  # type: ignore[list-item]
            stream=True,
            stream_options={"include_usage": True},
        )
        return Reply("".join([part.choices[0].delta.content or "" async for part in parts if part.choices]))

    with ModelServer(["Hello"]) as provider:
        done = await talk(provider, "hi", agent=Agent(streams))
    reply = done.transcript.turns[0].reply
    assert (reply.text, reply.tool_calls) == ("Hello", ())
    assert reply.usage is not None


async def test_calls_at_once_of_one_turn_are_all_seen() -> None:
    async def several(client: openai.AsyncOpenAI, history: list[Any]) -> Reply:
        tasks = [{"role": "user", "content": f"part {number} of hello"} for number in range(5)]
        done = await asyncio.gather(
            *(client.chat.completions.create(model="gpt-4o", messages=[task]) for task in tasks)  # type: ignore[list-item]
        )
        return Reply(" ".join(str(one.choices[0].message.content) for one in done))

    with ModelServer() as provider:
        done = await talk(provider, "hello", agent=Agent(several))
    assert done.spending[Role.AGENT].calls == 5
    (wire,) = (wire for _, wire in done.transcript.wire)
    assert wire.unclear.startswith("no request of this conversation names a tool")


async def test_the_budget_ends_an_agent_between_two_of_its_calls() -> None:
    with ModelServer([Completion(None, (("lookup", {}),)), "never"]) as provider:
        done = await talk(provider, CALL, budget=Budget(max_tokens=5))
        assert len(provider.requests) == 1
    assert isinstance(done.error, BudgetExceeded)
    assert done.transcript.pending_wire is not None
    assert len(done.transcript.pending_calls) == 1


async def test_a_limit_on_money_refuses_a_model_without_a_price_before_it_costs() -> None:
    async def own(client: openai.AsyncOpenAI, history: list[Any]) -> Reply:
        return await with_tools(client, history, model="own-model")

    with ModelServer() as provider:
        done = await talk(provider, CALL, agent=Agent(own), budget=Budget(max_cost=1.0))
        assert provider.requests == []
    assert isinstance(done.error, SettingsError)
    assert "the price of own-model, which the agent calls itself" in str(done.error)
    with ModelServer() as provider:
        prices = {"own-*": (0.0, 0.0)}
        done = await talk(provider, CALL, agent=Agent(own), budget=Budget(max_cost=1.0), prices=prices)
    assert done.error is None
    assert done.spending[Role.AGENT].cost == 0.0


async def test_an_agent_that_calls_no_model_is_not_taken_for_one_that_called_no_tool() -> None:
    async def silent(client: openai.AsyncOpenAI, history: list[Any]) -> Reply:
        return Reply(json.dumps(history))

    with ModelServer() as provider:
        done = await talk(provider, CALL, agent=Agent(silent))
    assert done.transcript.turns[0].reply.tool_calls is None
    assert Role.AGENT not in done.spending
