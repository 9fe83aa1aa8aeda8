from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import LLMUnavailable
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.limiter import Limited, Slots, Window, provider_of
from pytest_convoprobe.llm.port import LLMReply, LLMRequest

from .requests import request, settings


@pytest.mark.parametrize(("ceiling", "start"), [(100, 50), (32, 16), (20, 16), (16, 16), (5, 5), (0, 1)])
def test_it_starts_at_the_concurrency_and_at_sixteen_at_least(ceiling: int, start: int) -> None:
    assert Window(ceiling).size == start


def test_it_grows_by_one_a_success() -> None:
    window = Window(ceiling=32)
    assert window.size == 16
    for _ in range(10):
        window.succeeded()
    assert window.size == 26


def test_it_never_exceeds_the_ceiling() -> None:
    window = Window(ceiling=20)
    for _ in range(100):
        window.succeeded()
    assert window.size == 20


def test_a_429_cuts_a_fifth() -> None:
    window = Window(ceiling=100, start=50)
    window.rate_limited(window.send())
    assert window.size == 40


def test_the_429s_of_one_episode_cut_once() -> None:
    window = Window(ceiling=100, start=50)
    tickets = [window.send() for _ in range(50)]
    for ticket in tickets:
        window.rate_limited(ticket)
    assert window.size == 40


def test_a_429_on_a_call_sent_after_the_cut_cuts_again() -> None:
    window = Window(ceiling=100, start=50)
    window.rate_limited(window.send())
    window.rate_limited(window.send())
    assert window.size == 32


def test_after_a_429_a_whole_window_of_successes_adds_one() -> None:
    window = Window(ceiling=100, start=10)
    window.rate_limited(window.send())
    assert window.size == 8
    for _ in range(9):
        window.succeeded()
    assert window.size == 9


@given(st.integers(1, 200), st.lists(st.sampled_from(["send", "success", "first", "last"]), max_size=200))
def test_the_window_stays_within_its_bounds(ceiling: int, events: list[str]) -> None:
    window = Window(ceiling)
    tickets = [window.send()]
    for event in events:
        if event == "send":
            tickets.append(window.send())
        elif event == "success":
            window.succeeded()
        else:
            window.rate_limited(tickets[0 if event == "first" else -1])
        assert 1 <= window.size <= ceiling


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_success_never_shrinks_and_a_429_never_grows_it(events: list[bool]) -> None:
    window = Window(ceiling=50)
    for success in events:
        before = window.size
        if success:
            window.succeeded()
            assert window.size >= before
        else:
            window.rate_limited(window.send())
            assert window.size <= before


class Held:
    """A model that answers when it is told to; counts how many calls are at it."""

    def __init__(self) -> None:
        self.at_once = self.peak = 0
        self.order: list[str] = []
        self.gate = asyncio.Event()

    async def __call__(self, asked: LLMRequest) -> str:
        self.order.append(asked.messages[-1].content)
        self.at_once += 1
        self.peak = max(self.peak, self.at_once)
        try:
            await self.gate.wait()
        finally:
            self.at_once -= 1
        return "fine"


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_calls_than_the_window_allows() -> None:
    held = Held()
    llm = Limited(FakeLLM(held), ceiling=4)
    calls = [asyncio.ensure_future(llm.complete(request())) for _ in range(20)]
    await settle()
    assert held.at_once == 4
    held.gate.set()
    await asyncio.gather(*calls)
    assert held.peak == 4


async def test_calls_go_first_come_first_served() -> None:
    held = Held()
    held.gate.set()
    llm = Limited(FakeLLM(held), ceiling=2)
    words = [str(number) for number in range(12)]
    await asyncio.gather(*(llm.complete(request(word)) for word in words))
    assert held.order == words


async def test_each_provider_has_its_own_window() -> None:
    held = Held()
    llm = Limited(FakeLLM(held), ceiling=2)
    models = ["openai/a", "openai/b", "anthropic/c"]
    calls = [
        asyncio.ensure_future(llm.complete(request(model=settings(model=model))))
        for model in models
        for _ in range(3)
    ]
    await settle()
    assert held.at_once == 4
    held.gate.set()
    await asyncio.gather(*calls)


def test_an_address_names_the_provider_before_the_model_does() -> None:
    assert provider_of(settings(model="openai/a", api_base="http://here/v1")) == "http://here/v1"
    assert provider_of(settings(model="openai/a")) == provider_of(settings(model="openai/b")) == "openai"


@pytest.mark.parametrize("cancelled", [0, 1], ids=["out", "waiting"])
async def test_a_cancelled_call_gives_its_place_back(cancelled: int) -> None:
    held = Held()
    llm = Limited(FakeLLM(held), ceiling=1)
    calls = [asyncio.ensure_future(llm.complete(request())) for _ in range(2)]
    await settle()
    calls[cancelled].cancel()
    await settle()
    held.gate.set()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (await llm.complete(request("third"))).text == "fine"
    assert llm.slots(settings()).active == 0


async def test_a_call_cancelled_as_it_is_admitted_gives_its_place_back() -> None:
    slots = Slots(Window(ceiling=1))
    waiting: list[asyncio.Task[None]] = []

    async def wait() -> None:
        async with slots.slot():
            raise AssertionError("it was cancelled")

    async with slots.slot():
        waiting.append(asyncio.ensure_future(wait()))
        await settle()
    # Leaving has admitted it, but it has not run since.
    assert slots.active == 1
    waiting[0].cancel()
    await settle()
    assert slots.active == 0


async def test_places_survive_any_mix_of_cancellations() -> None:
    slots = Slots(Window(ceiling=3))

    async def use() -> None:
        async with slots.slot():
            await asyncio.sleep(0)

    for step in range(1, 8):
        tasks = [asyncio.ensure_future(use()) for _ in range(20)]
        for index, task in enumerate(tasks):
            if index % step == 0:
                task.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
    assert slots.active == 0


async def test_a_500_does_not_shrink_the_window() -> None:
    llm = Limited(FakeLLM([LLMUnavailable("broken", status=500)]), ceiling=16)
    with pytest.raises(LLMUnavailable):
        await llm.complete(request())
    assert llm.slots(settings()).window.size == 16


async def test_a_retry_after_holds_everybody_back() -> None:
    answers = [LLMUnavailable("busy", status=429, retry_after=0.05), LLMReply("fine"), LLMReply("fine")]
    inner = FakeLLM(answers)
    llm = Limited(inner, ceiling=16)
    with pytest.raises(LLMUnavailable):
        await llm.complete(request())
    others = [asyncio.ensure_future(llm.complete(request())) for _ in range(2)]
    await settle()
    assert len(inner.requests) == 1
    assert [reply.text for reply in await asyncio.gather(*others)] == ["fine", "fine"]


async def test_an_endless_retry_after_holds_nobody_back() -> None:
    answers = [LLMUnavailable("busy", status=429, retry_after=3600), LLMReply("fine")]
    llm = Limited(FakeLLM(answers), ceiling=16)
    with pytest.raises(LLMUnavailable):
        await llm.complete(request())
    assert (await asyncio.wait_for(llm.complete(request()), 5)).text == "fine"
