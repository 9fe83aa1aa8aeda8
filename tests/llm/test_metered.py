from __future__ import annotations

import asyncio

import pytest

from pytest_convoprobe.errors import BudgetExceeded, LLMRejected, LLMUnavailable, SettingsError
from pytest_convoprobe.llm.budget import Budget, Spent
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.ledger import Ledger, Spending
from pytest_convoprobe.llm.metered import Metered
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role
from pytest_convoprobe.transcript import Usage

from .requests import request

REPLY = LLMReply("fine", usage=Usage(10, 5), cost=0.25, attempts=2)


async def test_calls_are_kept_by_role() -> None:
    ledger = Ledger()
    llm = Metered(FakeLLM(lambda _: REPLY), ledger)
    for role in (Role.JUDGE, Role.JUDGE, Role.TARGET):
        await llm.complete(request(role=role))
    assert ledger.by_role == {
        Role.JUDGE: Spending(2, 4, 0, Usage(20, 10), 0.5),
        Role.TARGET: Spending(1, 2, 0, Usage(10, 5), 0.25),
    }


async def test_a_failed_call_counts_with_its_attempts() -> None:
    ledger = Ledger()
    with pytest.raises(LLMUnavailable):
        await Metered(FakeLLM([LLMUnavailable("broken", attempts=6)]), ledger).complete(request())
    # What it cost is not known: a provider may charge for an attempt that it never answered.
    assert ledger.by_role[Role.JUDGE] == Spending(1, 6, cost=None)


async def test_a_refused_call_costs_nothing_where_the_price_is_known() -> None:
    ledger, refused = Ledger(), LLMRejected("no such key")
    refused.cost = 0.0
    with pytest.raises(LLMRejected):
        await Metered(FakeLLM([refused]), ledger).complete(request())
    assert ledger.by_role[Role.JUDGE] == Spending(1, 1, cost=0.0)


async def test_it_leaves_the_inner_one_open() -> None:
    inner = FakeLLM([])
    await Metered(inner, Ledger()).aclose()
    assert not inner.closed


@pytest.mark.parametrize("sent", [2, 0])
async def test_a_call_that_was_given_up_counts_if_it_was_sent(sent: int) -> None:
    ledger = Ledger()

    async def answer(asked: LLMRequest) -> LLMReply:
        for _ in range(sent):
            asked.on_send(Spent())
        await asyncio.sleep(60)
        return REPLY

    call = asyncio.ensure_future(Metered(FakeLLM(answer), ledger).complete(request()))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert ledger.by_role == ({Role.JUDGE: Spending(1, sent, cost=None)} if sent else {})


def test_calls_of_an_agent_that_were_seen_have_a_role_of_their_own() -> None:
    ledger, budget = Ledger(), Budget(max_cost=1.0)
    metered = Metered(FakeLLM([]), ledger, budget)
    metered.take_agents_call(Usage(100, 20), 0.5, False, Spent())
    metered.take_agents_call(Usage(50, 5), 0.25, True, Spent())
    assert ledger.by_role == {Role.AGENT: Spending(2, 2, 1, Usage(150, 25), 0.75)}
    # What a recording answers costs nothing now.
    assert budget.spent == Spent(0.5, 120)
    metered.take_agents_call(Usage(), 0.5, False, Spent())
    with pytest.raises(BudgetExceeded):
        metered.before_agents_call(lambda: ("gpt-4o", True))


def test_tokens_that_were_seen_and_are_reported_too_count_once() -> None:
    ledger, budget = Ledger(), Budget()
    metered = Metered(FakeLLM([]), ledger, budget)
    metered.before_agent()
    metered.take_agents_call(Usage(100, 20), 0.5, False, Spent())
    metered.take_agents_own(Usage(100, 20))
    assert Role.TARGET not in ledger.by_role
    metered.before_agent()
    metered.take_agents_call(Usage(100, 20), 0.5, False, Spent())
    metered.take_agents_own(Usage(130, 20))  # it made another call, behind the gateway
    assert ledger.by_role[Role.TARGET] == Spending(usage=Usage(30, 0), cost=None)
    assert budget.spent.tokens == 270


def test_a_call_without_usage_counts_as_a_guess_in_the_budget_alone() -> None:
    ledger, budget = Ledger(), Budget(max_tokens=40)
    metered = Metered(FakeLLM([]), ledger, budget)
    metered.take_agents_call(None, None, False, Spent(0.1, 50))
    assert ledger.by_role == {Role.AGENT: Spending(1, 1, cost=None)}
    with pytest.raises(
        BudgetExceeded, match=r"50 tokens spent \(estimated for 1 call that reported no usage\)"
    ):
        metered.before_agents_call(lambda: ("gpt-4o", True))


def test_a_limit_on_money_refuses_an_agents_model_without_a_price() -> None:
    with pytest.raises(SettingsError, match="the price of own/model, which the agent calls itself"):
        Metered(FakeLLM([]), Ledger(), Budget(max_cost=1.0)).before_agents_call(lambda: ("own/model", False))
    Metered(FakeLLM([]), Ledger(), Budget(max_tokens=10)).before_agents_call(lambda: ("own/model", False))
