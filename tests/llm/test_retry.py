from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import BudgetExceeded, LLMRejected, LLMTimeout, LLMUnavailable
from pytest_convoprobe.llm.fake import Answer, FakeLLM
from pytest_convoprobe.llm.port import LLMReply
from pytest_convoprobe.llm.retry import Patience, Retrying

from .requests import request, settings


def busy(retry_after: float | None = None) -> LLMUnavailable:
    return LLMUnavailable("busy", status=429, retry_after=retry_after)


def broken() -> LLMUnavailable:
    return LLMUnavailable("broken", status=500)


class Run:
    """A retrying fake and the waits that it took."""

    def __init__(self, answers: list[Answer], seed: int = 1) -> None:
        self.waits: list[float] = []
        self.inner = FakeLLM(answers)
        self.llm = Retrying(self.inner, rng=random.Random(seed), sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def call(self, max_attempts: int = 6) -> LLMReply:
        return await self.llm.complete(request(model=settings(max_attempts=max_attempts)))


@pytest.mark.parametrize(
    "fault", [broken(), busy(), LLMTimeout("slow"), LLMUnavailable("no connection")], ids=lambda f: str(f)
)
async def test_a_passing_fault_is_followed_by_another_attempt(fault: LLMUnavailable) -> None:
    reply = await Run([fault, "fine"]).call()
    assert (reply.text, reply.attempts) == ("fine", 2)


async def test_attempts_of_the_inner_call_count() -> None:
    reply = await Run([LLMUnavailable("broken", attempts=2), LLMReply("fine", attempts=2)]).call()
    assert reply.attempts == 4


@pytest.mark.parametrize("no", [LLMRejected("a wrong key"), BudgetExceeded("used up")], ids=["no", "budget"])
async def test_a_final_no_is_not_repeated(no: Exception) -> None:
    run = Run([no])
    with pytest.raises(type(no), match=str(no)):
        await run.call()
    assert len(run.inner.requests) == 1


async def test_faults_end_after_max_attempts_and_say_so() -> None:
    run = Run([broken() for _ in range(3)])
    with pytest.raises(LLMUnavailable, match=r"broken \(after 3 attempts\)") as error:
        await run.call(max_attempts=3)
    assert (error.value.attempts, error.value.status) == (3, 500)


async def test_a_busy_provider_gets_more_attempts_than_a_broken_one() -> None:
    reply = await Run([*(busy() for _ in range(8)), *(broken() for _ in range(2)), "fine"]).call(
        max_attempts=3
    )
    assert reply.attempts == 11


async def test_a_busy_provider_is_given_up_in_the_end() -> None:
    with pytest.raises(LLMUnavailable, match="after 9 attempts"):
        await Run([busy() for _ in range(9)]).call(max_attempts=3)


async def test_one_attempt_means_no_retry() -> None:
    run = Run([busy()])
    with pytest.raises(LLMUnavailable, match=r"\Abusy\Z"):
        await run.call(max_attempts=1)
    assert run.waits == []


async def test_waits_are_drawn_below_a_bound_that_doubles() -> None:
    run = Run([*(broken() for _ in range(9)), "fine"])
    await run.call(max_attempts=10)
    bounds = [0.5, 1, 2, 4, 8, 16, 20, 20, 20]
    assert all(0 <= wait <= bound for wait, bound in zip(run.waits, bounds, strict=True))
    assert len(set(run.waits)) == 9


async def test_the_same_seed_draws_the_same_waits() -> None:
    first, second = Run([broken(), "fine"], seed=7), Run([broken(), "fine"], seed=7)
    await first.call()
    await second.call()
    assert first.waits == second.waits


async def test_retry_after_is_never_undercut() -> None:
    run = Run([busy(30.0), "fine"])
    await run.call()
    assert 30.0 <= run.waits[0] <= 31.0


async def test_an_endless_retry_after_is_not_waited_for() -> None:
    run = Run([busy(3600.0)])
    with pytest.raises(LLMUnavailable, match=r"asks to wait 3600 s, longer than the 120 s"):
        await run.call()
    assert run.waits == []


async def test_a_cancelled_wait_ends_the_call() -> None:
    llm = Retrying(FakeLLM(lambda _: busy(100.0)))
    call = asyncio.ensure_future(llm.complete(request()))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@given(st.integers(1, 20), st.integers(0, 100), st.integers(0, 100))
def test_more_failures_never_allow_more(max_attempts: int, faults: int, limits: int) -> None:
    patience = Patience(max_attempts)
    if not patience.allows(faults, limits):
        assert not patience.allows(faults + 1, limits)
        assert not patience.allows(faults, limits + 1)
