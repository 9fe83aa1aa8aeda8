from __future__ import annotations

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
from pytest_convoprobe.llm.budget import Budget, Budgeted, KnowsPrice, Spent
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMReply
from pytest_convoprobe.llm.retry import Retrying
from pytest_convoprobe.settings.models import ModelSettings
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


async def test_no_call_once_the_tokens_are_spent() -> None:
    llm = Budgeted(FakeLLM([paid()]), Budget(max_tokens=100))
    await llm.complete(request())
    with pytest.raises(BudgetExceeded, match=r"100 tokens spent of run\.max_tokens 100"):
        await llm.complete(request())


def test_workers_keep_to_their_share_and_say_so() -> None:
    budget = Budget(max_tokens=25, workers=5)
    budget.check()
    budget.add(LLMReply("ok", usage=Usage(3, 2)))
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
        budget.add(paid())  # someone else spends the rest while this attempt fails
        return LLMUnavailable("broken", status=500)

    async def no_wait(_: float) -> None:
        return None

    inner = FakeLLM(answer)
    with pytest.raises(BudgetExceeded):
        await Retrying(Budgeted(inner, budget), sleep=no_wait).complete(request())
    assert len(inner.requests) == 1
