from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pytest_convoprobe.errors import (
    Blame,
    BudgetExceeded,
    LLMError,
    LLMRejected,
    LLMTimeout,
    LLMUnavailable,
    SettingsError,
)
from pytest_convoprobe.llm.budget import Budget, Spent
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMReply, LLMRequest
from pytest_convoprobe.llm.retry import Retrying
from pytest_convoprobe.llm.within_budget import Budgeted, KnowsPrice
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.transcript import Usage

from .requests import request


def paid(cost: float | None = 0.4) -> LLMReply:
    return LLMReply("fine", usage=Usage(80, 20), cost=cost)


async def known(_: ModelSettings) -> bool:
    return True


async def unknown(_: ModelSettings) -> bool:
    return False


async def test_what_was_spent_can_be_read() -> None:
    budget = Budget()
    llm = Budgeted(FakeLLM(lambda _: paid()), budget)
    await llm.complete(request())
    await llm.complete(request())
    assert budget.spent == Spent(0.8, 200)


async def test_a_call_of_unknown_price_makes_the_sum_unknown() -> None:
    budget = Budget(max_tokens=1000)
    llm = Budgeted(FakeLLM([paid(), paid(None), paid()]), budget)
    for _ in range(3):
        await llm.complete(request())
    assert budget.spent == Spent(None, 300)


@pytest.mark.parametrize(
    ("error", "price", "cost"),
    [
        (LLMRejected("a bad key"), known, 0.0),
        (LLMRejected("a bad key"), unknown, None),
        (LLMRejected("a bad key"), None, None),
        (LLMTimeout("too slow"), known, None),
    ],
)
async def test_what_a_failed_call_cost(error: LLMError, price: KnowsPrice | None, cost: float | None) -> None:
    with pytest.raises(LLMError) as caught:
        await Budgeted(FakeLLM([error]), Budget(), price).complete(request())
    assert caught.value.cost == cost


async def test_no_call_once_the_money_is_spent() -> None:
    inner = FakeLLM(lambda _: paid())
    llm = Budgeted(inner, Budget(max_cost=0.5), known)
    await llm.complete(request())
    await llm.complete(request())
    with pytest.raises(BudgetExceeded, match=r"\$0\.8000 spent of run\.max_cost 0\.5") as error:
        await llm.complete(request())
    assert error.value.blame is Blame.BUDGET
    assert error.value.limit == "run.max_cost"
    assert len(inner.requests) == 2


async def test_what_rounding_leaves_of_the_money_is_nothing() -> None:
    """Ten times 0.1 is a little less than 1."""
    inner = FakeLLM(lambda _: paid(0.1))
    llm = Budgeted(inner, Budget(max_cost=1.0), known)
    for _ in range(10):
        await llm.complete(request())
    with pytest.raises(BudgetExceeded, match=r"\$1\.0000 spent of run\.max_cost 1;"):
        await llm.complete(request())


async def test_no_call_once_the_tokens_are_spent() -> None:
    llm = Budgeted(FakeLLM([paid()]), Budget(max_tokens=100))
    await llm.complete(request())
    with pytest.raises(BudgetExceeded, match=r"100 tokens spent of run\.max_tokens 100"):
        await llm.complete(request())


def test_workers_keep_to_their_share_and_say_so() -> None:
    budget = Budget(max_tokens=25)
    budget.divide_among(5)
    budget.check()
    budget.add(Spent(0.0, 5))
    words = r"5 tokens spent of this worker's share, 1 in 5, of run\.max_tokens 25"
    with pytest.raises(BudgetExceeded, match=words):
        budget.check()


async def test_a_budget_of_nothing_allows_no_call() -> None:
    inner = FakeLLM([])
    with pytest.raises(BudgetExceeded):
        await Budgeted(inner, Budget(max_tokens=0)).complete(request())
    assert inner.requests == []


async def test_a_limit_on_money_needs_a_price_before_the_first_call() -> None:
    inner = FakeLLM([])
    with pytest.raises(
        SettingsError, match="price of openai/fake is unknown; set input_cost_per_token"
    ) as error:
        await Budgeted(inner, Budget(max_cost=1.0), unknown).complete(request())
    assert "or limit the run by run.max_tokens instead" in str(error.value)
    assert error.value.remedies == ("run.max_tokens",)
    assert inner.requests == []


async def test_a_reply_without_a_cost_ends_a_run_with_a_limit_on_money() -> None:
    llm = Budgeted(FakeLLM([paid(None)]), Budget(max_cost=1.0), known)
    await llm.complete(request())
    with pytest.raises(SettingsError, match="price of openai/fake is unknown"):
        await llm.complete(request())


async def test_a_limit_on_tokens_needs_no_price() -> None:
    assert await Budgeted(FakeLLM([paid(None)]), Budget(max_tokens=500), unknown).complete(request())


async def test_it_is_checked_before_every_attempt() -> None:
    budget = Budget(max_tokens=100)

    def answer(_: object) -> LLMUnavailable:
        budget.add(Spent(0.4, 100))  # someone else spends the rest while this attempt fails
        return LLMUnavailable("broken", status=500)

    async def no_wait(_: float) -> None:
        return None

    inner = FakeLLM(answer)
    with pytest.raises(BudgetExceeded):
        await Retrying(Budgeted(inner, budget), sleep=no_wait).complete(request())
    assert len(inner.requests) == 1


class Provider:
    """Answers after a moment, with the usage that `used` gives for each call."""

    def __init__(self, used: Callable[[int], Usage], cost_per_token: float = 0.0) -> None:
        self.calls = self.at_once = self.peak = 0
        self._used = used
        self._cost_per_token = cost_per_token

    async def __call__(self, _: object) -> LLMReply:
        self.calls += 1
        usage = self._used(self.calls)
        self.at_once += 1
        self.peak = max(self.peak, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        return LLMReply("fine", usage=usage, cost=usage.total * self._cost_per_token)


async def refused_of(llm: Budgeted, calls: int, **fields: int) -> int:
    """Make so many calls at once; how many of them the budget refused."""
    made = (llm.complete(request(**fields)) for _ in range(calls))
    outcomes = await asyncio.gather(*made, return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, BudgetExceeded)]
    assert len(refused) + sum(isinstance(one, LLMReply) for one in outcomes) == calls
    return len(refused)


@pytest.mark.parametrize(
    ("limits", "most"),
    [({"max_tokens": 200_000}, 300_000), ({"max_cost": 2.0}, 300_000), ({"max_tokens": 50_000}, 100_000)],
    ids=["tokens", "money", "less than one call"],
)
async def test_calls_in_flight_exceed_a_limit_by_one_call_at_most(limits: Any, most: int) -> None:
    budget, provider = Budget(**limits), Provider(lambda _: Usage(99_000, 1_000), 0.00001)
    refused = await refused_of(Budgeted(FakeLLM(provider), budget, known), 16)
    assert budget.spent.tokens <= most
    assert provider.calls == 16 - refused == budget.spent.tokens / 100_000


async def test_what_a_limit_on_length_allows_is_set_aside() -> None:
    """The first replies were short: that says nothing about later ones."""
    budget = Budget(max_tokens=10_000)
    provider = Provider(lambda number: Usage(10, 10 if number < 4 else 3_000))
    llm = Budgeted(FakeLLM(provider), budget)
    await refused_of(llm, 3, max_tokens=3_000)
    await refused_of(llm, 16, max_tokens=3_000)
    assert 10_000 <= budget.spent.tokens <= 13_010


async def test_far_from_the_limit_calls_go_at_once() -> None:
    provider = Provider(lambda _: Usage(90, 10))
    llm = Budgeted(FakeLLM(provider), Budget(max_tokens=1_000_000))
    assert await refused_of(llm, 17) == 0
    assert provider.peak == 16  # the first goes alone: nothing is known of it


async def test_a_call_waits_for_those_that_hold_the_rest() -> None:
    """Its estimate doesn't fit beside theirs, but they use less than was set aside."""
    provider = Provider(lambda number: Usage(10, 400 if number == 1 else 10))
    llm = Budgeted(FakeLLM(provider), Budget(max_tokens=1_000))
    await llm.complete(request())
    assert await refused_of(llm, 10) == 0


async def test_a_call_that_is_given_up_stays_paid() -> None:
    """The provider goes on and charges for it. What waited for it goes next."""
    budget, hanging = Budget(max_tokens=10_000), asyncio.Event()

    async def answer(asked: LLMRequest) -> LLMReply:
        if asked.messages[0].content == "hang":
            await hanging.wait()
        return LLMReply("fine", usage=Usage(600, 0))

    llm = Budgeted(FakeLLM(answer), budget)
    await llm.complete(request())
    given_up = asyncio.ensure_future(llm.complete(request("hang")))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    await llm.complete(request())
    assert 1_750 <= budget.spent.tokens <= 1_850
    budget.max_tokens = 1_000
    with pytest.raises(BudgetExceeded, match=r"tokens spent \(estimated for 1 call that reported no usage\)"):
        budget.check()


async def test_waiting_calls_can_be_cancelled() -> None:
    provider = Provider(lambda _: Usage(100, 0))
    llm = Budgeted(FakeLLM(provider), Budget(max_tokens=10_000))
    calls = [asyncio.ensure_future(llm.complete(request())) for _ in range(3)]
    await asyncio.sleep(0)
    calls[0].cancel()
    calls[1].cancel()
    assert isinstance((await asyncio.gather(*calls, return_exceptions=True))[2], LLMReply)


async def test_a_provider_that_reports_no_tokens_uses_up_the_budget_too() -> None:
    llm = Budgeted(FakeLLM(lambda _: LLMReply("x" * 3_000)), Budget(max_tokens=2_500))
    assert await refused_of(llm, 5) == 2


async def test_each_retry_reserves() -> None:
    """A timeout may cost as much as an answer."""

    async def no_wait(_: float) -> None:
        return None

    budget, inner = Budget(max_tokens=250), FakeLLM(lambda _: LLMTimeout("too slow"))
    with pytest.raises(BudgetExceeded):
        await Retrying(Budgeted(inner, budget), sleep=no_wait).complete(request(max_tokens=100))
    assert len(inner.requests) == 3
