"""Limits that processes share: pure, and with several members on one loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import BudgetExceeded, LLMUnavailable
from pytest_convoprobe.llm.budget import Budget, Spent
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.limiter import Limited
from pytest_convoprobe.llm.member import Member
from pytest_convoprobe.llm.port import LLMReply, LLMRequest
from pytest_convoprobe.llm.shared_limits import (
    INTERVAL,
    SHORT_INTERVAL,
    Alone,
    Grant,
    Report,
    SharedLimits,
    SlotUse,
    fair_parts,
)
from pytest_convoprobe.llm.within_budget import Budgeted
from pytest_convoprobe.transcript import Usage

from .requests import request

WANTED = st.lists(st.integers(0, 40), min_size=1, max_size=12)


@given(st.integers(0, 100), WANTED, st.integers(0, 1000))
def test_parts_add_up_to_the_window(size: int, wanted: list[int], turn: int) -> None:
    parts = fair_parts(size, wanted, turn)
    assert sum(parts) == size
    assert min(parts) >= 0


@given(st.integers(0, 100), WANTED, st.integers(0, 1000))
def test_nobody_has_two_more_than_one_who_is_short(size: int, wanted: list[int], turn: int) -> None:
    parts = fair_parts(size, wanted, turn)
    short = [part for part, want in zip(parts, wanted, strict=True) if part < want]
    if short:
        assert max(parts) <= min(short) + 1


def test_what_nobody_wants_is_divided_evenly() -> None:
    assert fair_parts(20, [1, 7, 0]) == [5, 11, 4]


def test_too_few_places_go_round() -> None:
    turns = [fair_parts(1, [5, 5, 5], turn) for turn in range(3)]
    assert turns == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def use(active: int = 0, waiting: int = 0, **seen: float) -> Report:
    return Report({"openai": SlotUse(active, waiting, **seen)})  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1), st.integers(0, 30)), max_size=60))
def test_calls_that_are_out_never_exceed_the_window(events: list[tuple[str, float, int]]) -> None:
    limits = SharedLimits(ceiling=16)
    granted = dict.fromkeys("abcd", 0)
    for name, share, waiting in events:
        # What is out is at most what was granted, whenever the others report.
        active = round(share * granted[name])
        granted[name] = limits.report(name, use(active, waiting)).parts["openai"].size
        assert sum(granted.values()) <= 16


@given(st.integers(1, 8), st.integers(1, 30))
def test_after_a_round_of_reports_all_places_are_given(members: int, waiting: int) -> None:
    limits = SharedLimits(ceiling=16, clock=Clock())
    names = [str(number) for number in range(members)]
    for _ in range(2):
        sizes = [limits.report(name, use(0, waiting)).parts["openai"].size for name in names]
    assert sum(sizes) == 16


def begun(limits: SharedLimits) -> None:
    """Two members that share a window of 100."""
    for _ in range(2):
        limits.report("a", use(waiting=100))
        limits.report("b", use(waiting=100))


def test_successes_of_all_grow_the_window() -> None:
    limits = SharedLimits(ceiling=200)
    limits.report("a", use(succeeded=20))
    limits.report("b", use(succeeded=30))
    assert limits.window("openai") == 150


def test_a_429_at_one_member_cuts_them_all() -> None:
    limits = SharedLimits(ceiling=200, clock=Clock())
    begun(limits)
    ticket = limits.report("a", use(50, 50)).parts["openai"].ticket
    limits.report("a", use(50, 50, refused=ticket))
    # What was out has come back by the next round.
    for _ in range(2):
        sizes = [limits.report(name, use(0, 100)).parts["openai"].size for name in "ab"]
    assert sizes == [40, 40]


def test_429s_on_calls_sent_before_the_cut_was_known_say_nothing_new() -> None:
    limits = SharedLimits(ceiling=200)
    begun(limits)
    before = {name: limits.report(name, use()).parts["openai"].ticket for name in "ab"}
    after = limits.report("a", use(refused=before["a"])).parts["openai"].ticket
    limits.report("b", use(refused=before["b"]))
    assert limits.window("openai") == 80
    limits.report("a", use(refused=after))
    assert limits.window("openai") == 64


def test_a_retry_after_holds_all_members_for_what_is_left_of_it() -> None:
    clock = Clock()
    limits = SharedLimits(ceiling=200, clock=clock)
    limits.report("a", use(paused=30.0))
    clock.now += 10
    assert limits.report("b", use()).parts["openai"].paused == 20.0


def test_the_places_of_a_lost_member_go_to_the_others() -> None:
    limits = SharedLimits(ceiling=16)
    limits.report("a", use(waiting=16))
    assert limits.report("b", use(waiting=16)).parts["openai"].size == 0
    limits.forget("a")
    assert limits.report("b", use(waiting=16)).parts["openai"].size == 16


def test_a_member_that_was_given_up_gets_no_places() -> None:
    limits = SharedLimits(ceiling=16)
    limits.forget("a")
    assert limits.report("a", use(waiting=16)).parts["openai"].size == 0


def test_everybody_is_told_what_all_others_have_spent() -> None:
    limits = SharedLimits(ceiling=16)
    limits.report("a", Report({}, Spent(1.0, 10)))
    limits.forget("a")
    limits.report("b", Report({}, Spent(2.0, 20)))
    assert limits.report("c", Report({}, Spent(4.0, 40))).elsewhere == Spent(3.0, 30)
    assert limits.report("b", Report({}, Spent(2.5, 25))).elsewhere == Spent(5.0, 50)


def test_a_price_that_is_unknown_to_one_is_unknown_to_all() -> None:
    limits = SharedLimits(ceiling=16)
    limits.report("a", Report({}, Spent(None, 10)))
    assert limits.report("b", Report({})).elsewhere == Spent(None, 10)


def test_members_of_a_large_cluster_report_less_often() -> None:
    limits = SharedLimits(ceiling=16)
    answers = [limits.report(str(number), use()) for number in range(1000)]
    assert answers[0].interval == INTERVAL
    assert answers[-1].interval == 2.5


@pytest.mark.parametrize(
    ("report", "interval"),
    [
        (use(active=3), INTERVAL),
        (use(active=3, waiting=1), SHORT_INTERVAL),
        (Report({}, calls=2), INTERVAL),
        (Report({}, calls=2, calls_waiting=1), SHORT_INTERVAL),
        (Report({}, conversations=SlotUse(2, 0)), INTERVAL),
        (Report({}, conversations=SlotUse(2, 1)), SHORT_INTERVAL),
    ],
)
def test_whoever_waits_reports_more_often(report: Report, interval: float) -> None:
    assert SharedLimits(ceiling=16).report("a", report).interval == interval


def test_calls_that_spend_of_a_budget_are_reported_soon() -> None:
    """A member that crashes then has hardly spent anything that nobody knows of."""
    limits = SharedLimits(ceiling=16, max_cost=1.0)
    assert limits.report("a", Report({}, calls=2)).interval == SHORT_INTERVAL
    assert limits.report("a", Report({})).interval == INTERVAL


class Provider:
    """Answers after a moment; counts how many calls are at it, from all members together."""

    def __init__(self) -> None:
        self.at_once = self.peak = self.calls = 0

    async def __call__(self, asked: LLMRequest) -> str:
        self.calls += 1
        self.at_once += 1
        self.peak = max(self.peak, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        return "fine"


@asynccontextmanager
async def members(limits: SharedLimits, llms: list[FakeLLM]) -> AsyncIterator[list[Limited]]:
    """A limiter for each model, each a member of its own."""
    reporting = []
    limited = []
    for number, llm in enumerate(llms):

        async def exchange(report: Report, name: str = str(number)) -> Grant:
            return limits.report(name, report)

        member = Member(exchange, Budget())
        member.start()
        reporting.append(member)
        limited.append(Limited(llm, ceiling=1, slots_of=member.slots_of))
    yield limited
    for member in reporting:
        await member.aclose()


async def test_members_together_keep_to_one_window() -> None:
    provider = Provider()
    async with members(SharedLimits(ceiling=16), [FakeLLM(provider) for _ in range(4)]) as limited:
        await asyncio.gather(*(llm.complete(request()) for llm in limited for _ in range(50)))
    assert provider.calls == 200
    assert 4 <= provider.peak <= 16


async def test_with_fewer_places_than_members_each_has_its_turn() -> None:
    provider, clock = Provider(), Clock()
    limits = SharedLimits(ceiling=1, clock=clock)

    async def tick() -> None:
        while True:
            clock.now += 0.1
            await asyncio.sleep(0.01)

    ticking = asyncio.ensure_future(tick())
    async with members(limits, [FakeLLM(provider) for _ in range(3)]) as limited:
        await asyncio.gather(*(llm.complete(request()) for llm in limited for _ in range(3)))
    ticking.cancel()
    assert (provider.calls, provider.peak) == (9, 1)


async def test_a_call_that_has_to_wait_is_reported_at_once() -> None:
    limits, reports = SharedLimits(ceiling=16), list[Report]()

    async def exchange(report: Report) -> Grant:
        reports.append(report)
        return limits.report("a", report)

    member = Member(exchange, Budget())
    llm = Limited(FakeLLM(Provider()), ceiling=1, slots_of=member.slots_of)
    member.start()
    await llm.complete(request())
    limits.report("b", use(waiting=100))
    await member.report()  # so it has no place any more
    count = len(reports)
    call = asyncio.ensure_future(llm.complete(request()))
    await asyncio.sleep(0.01)
    assert [one.uses["openai"].waiting for one in reports[count:]][:1] == [1]
    limits.report("b", use())
    await asyncio.wait_for(call, 30)
    await member.aclose()


async def test_a_retry_after_at_one_member_reaches_the_others() -> None:
    busy = FakeLLM([LLMUnavailable("busy", status=429, retry_after=60.0)])
    other = FakeLLM(Provider())
    async with members(SharedLimits(ceiling=16), [busy, other]) as limited:
        await limited[1].complete(request())
        with pytest.raises(LLMUnavailable):
            await limited[0].complete(request())
        await asyncio.sleep(2 * INTERVAL)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(limited[1].complete(request()), 0.1)
    assert len(other.requests) == 1


async def test_what_others_spend_uses_up_the_budget_here() -> None:
    budget = Budget(max_tokens=100)

    async def exchange(report: Report) -> Grant:
        return Grant({}, Spent(0.0, 60))

    budget.add(Spent())
    await Member(exchange, budget).report()
    budget.check()
    budget.max_tokens = 60
    with pytest.raises(BudgetExceeded, match=r"60 tokens spent of run\.max_tokens 60"):
        budget.check()


async def test_what_could_not_be_told_is_told_the_next_time() -> None:
    limits = SharedLimits(ceiling=100)
    reachable = True

    async def exchange(report: Report) -> Grant:
        if not reachable:
            raise ConnectionError("away")
        return limits.report("a", report)

    member = Member(exchange, Budget())
    llm = Limited(FakeLLM(lambda _: "fine"), ceiling=1, slots_of=member.slots_of)
    call = asyncio.ensure_future(llm.complete(request()))
    await asyncio.sleep(0)
    await member.report()
    await call
    reachable = False
    with pytest.raises(ConnectionError):
        await member.report()
    reachable = True
    await member.report()
    await member.report()
    assert limits.window("openai") == 51


async def test_a_member_closed_and_started_again_goes_on() -> None:
    """As the gates of a benchmark do, one after another."""
    limits = SharedLimits(ceiling=16, max_tokens=100)

    async def exchange(report: Report) -> Grant:
        return limits.report("a", report)

    budget = Budget(max_tokens=100)
    member = Member(exchange, budget)
    llm = Limited(FakeLLM(lambda _: "fine"), ceiling=1, slots_of=member.slots_of)
    for _ in range(2):
        member.start()
        await asyncio.wait_for(llm.complete(request()), 30)
        budget.add(Spent(0.0, 10))
        await member.aclose()
    assert limits.report("b", Report({})).elsewhere.tokens == 20


async def test_what_rounding_leaves_of_the_money_is_nothing_that_anybody_waits_for() -> None:
    limits = SharedLimits(ceiling=16, max_cost=1.0)

    async def spend(name: str) -> None:
        async def exchange(report: Report) -> Grant:
            return limits.report(name, report)

        budget = Budget(max_cost=1.0)
        priced = Budgeted(FakeLLM(lambda _: LLMReply("fine", usage=Usage(1, 0), cost=0.1)), budget)
        member = Member(exchange, budget)
        llm = Limited(priced, ceiling=1, slots_of=member.slots_of)
        member.start()
        with contextlib.suppress(BudgetExceeded):
            while True:
                await llm.complete(request())
        await member.aclose()

    await asyncio.wait_for(asyncio.gather(*map(spend, "abc")), 60)
    assert limits.report("d", Report({})).elsewhere == Spent(pytest.approx(1.0), 10)


def talks(active: int = 0, waiting: int = 0) -> Report:
    return Report({}, conversations=SlotUse(active, waiting))


def places(limits: SharedLimits, member: str, active: int = 0, waiting: int = 0) -> int:
    return limits.report(member, talks(active, waiting)).conversations.size


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1), st.integers(0, 9)), max_size=60),
)
def test_conversations_of_all_never_exceed_their_number(
    most: int, events: list[tuple[str, float, int]]
) -> None:
    clock = Clock()
    limits = SharedLimits(ceiling=16, clock=clock, conversations=most)
    granted = dict.fromkeys("abc", 0)
    for name, share, waiting in events:
        clock.now += 0.3
        granted[name] = places(limits, name, round(share * granted[name]), waiting)
        assert sum(granted.values()) <= most


def test_one_that_begins_early_leaves_others_their_part_of_the_conversations() -> None:
    clock = Clock()
    limits = SharedLimits(ceiling=16, clock=clock, conversations=9)
    for name in "abc":
        limits.expect(name)
    assert places(limits, "a", waiting=20) == 3
    assert places(limits, "b", waiting=20) == 3
    clock.now += 3
    # The third has nothing to do, as it seems.
    assert places(limits, "a", 3, 20) in (4, 5)
    assert places(limits, "b", 3, 20) in (4, 5)
    # Then it has, and gets its part as the others' conversations end.
    assert places(limits, "c", waiting=20) <= 1
    assert places(limits, "a", 3, 20) == 3
    assert places(limits, "c", waiting=20) in (1, 2)


def test_what_one_does_not_need_another_uses() -> None:
    clock = Clock()
    limits = SharedLimits(ceiling=16, clock=clock, conversations=8)
    clock.now += 3
    assert places(limits, "a", waiting=2) == 8
    assert places(limits, "a", 2) == 8
    assert places(limits, "b", waiting=20) == 0
    assert places(limits, "a", 2) == 2
    assert places(limits, "b", waiting=20) == 6


def test_at_the_beginning_each_keeps_its_part_whatever_it_has_reported_first() -> None:
    limits = SharedLimits(ceiling=16, clock=Clock(), conversations=4)
    limits.expect("a")
    limits.expect("b")
    assert places(limits, "a", waiting=1) == 2  # the first scenario is there before those ahead
    assert places(limits, "b", 0, 20) == 2
    assert places(limits, "a", 1, 20) == 2


def test_the_conversations_of_a_lost_member_go_to_the_others() -> None:
    limits = SharedLimits(ceiling=16, conversations=2)
    assert places(limits, "a", waiting=5) == 2
    limits.forget("a")
    assert places(limits, "b", waiting=5) == 2


def alone(limits: SharedLimits, member: str, state: Alone) -> bool:
    return limits.report(member, Report({}, alone=state)).may_exceed


def test_one_member_at_a_time_may_exceed_the_budget() -> None:
    limits = SharedLimits(ceiling=16, max_tokens=10)
    assert not alone(limits, "c", "")
    assert alone(limits, "a", "wanted")
    assert not alone(limits, "b", "wanted")
    assert alone(limits, "a", "used")
    assert not alone(limits, "b", "wanted")
    # It has ended there, and wants another one: first it is the turn of the other.
    assert not alone(limits, "a", "wanted")
    assert alone(limits, "b", "wanted")
    assert not alone(limits, "a", "wanted")
    assert not alone(limits, "b", "")
    assert alone(limits, "a", "wanted")
    limits.forget("a")
    assert alone(limits, "b", "wanted")


def test_without_a_budget_nobody_asks() -> None:
    limits = SharedLimits(ceiling=16)
    assert alone(limits, "a", "")
    assert alone(limits, "b", "")


def test_what_a_lost_member_had_in_flight_counts_as_spent_until_it_is_known_better() -> None:
    limits = SharedLimits(ceiling=16, max_tokens=1000)
    limits.report("a", Report({}, Spent(1.0, 100), Spent(0.5, 50), calls=1))
    limits.forget("a")
    assert limits.report("b", Report({})).elsewhere == Spent(1.5, 150)
    limits.forget("a", Spent(1.2, 90))
    assert limits.report("b", Report({})).elsewhere == Spent(1.2, 100)
    limits.forget("a")
    assert limits.report("b", Report({})).elsewhere == Spent(1.2, 100)


def busy(spent: float, reserved: float = 0) -> Report:
    use = {"openai": SlotUse(1, 1)}
    return Report(use, Spent(spent / 1000, int(spent)), Spent(reserved / 1000, int(reserved)))


def share(limits: SharedLimits, member: str, report: Report) -> int:
    """How many tokens a member may have spent until it reports again."""
    grant = limits.report(member, report)
    return 1000 - grant.elsewhere.tokens - grant.promised.tokens


def test_the_shares_of_the_budget_never_exceed_it() -> None:
    limits = SharedLimits(ceiling=16, max_tokens=1000, max_cost=1.0)
    assert share(limits, "a", busy(0)) == 1000
    assert share(limits, "b", busy(0)) == 0  # until the other has reported
    assert share(limits, "a", busy(200, 100)) == 600
    assert share(limits, "b", busy(0)) == 400
    assert share(limits, "a", busy(600)) == 600
    assert share(limits, "b", Report({}, Spent(), calls=1)) == 200  # it waits for the budget alone
    # Whoever has nothing to do holds nothing back, and what is gone needs nothing.
    assert share(limits, "b", Report({}, Spent(0.1, 100))) == 100
    assert share(limits, "a", busy(700)) == 900
    limits.forget("b")
    assert share(limits, "a", busy(899)) == 900


async def test_processes_together_exceed_the_budget_by_one_call_at_most() -> None:
    """Each reports now and then only, and has many calls at once."""
    limits = SharedLimits(ceiling=64, max_tokens=1000)
    budgets = [Budget(max_tokens=1000) for _ in range(3)]

    async def answer(asked: LLMRequest) -> LLMReply:
        await asyncio.sleep(0.001)
        return LLMReply("fine", usage=Usage(90, 10))

    async def work(number: int, budget: Budget) -> None:
        async def exchange(report: Report) -> Grant:
            return limits.report(str(number), report)

        member = Member(exchange, budget)
        llm = Limited(Budgeted(FakeLLM(answer), budget), ceiling=1, slots_of=member.slots_of)
        member.start()
        await asyncio.gather(*(llm.complete(request()) for _ in range(20)), return_exceptions=True)
        await member.aclose()
        limits.forget(str(number))

    await asyncio.wait_for(asyncio.gather(*map(work, range(3), budgets)), 30)
    spent = sum(budget.spent.tokens for budget in budgets)
    assert 1000 <= spent < 1100


@pytest.mark.parametrize("moment", range(4))
def test_one_that_ends_keeps_no_place_though_nobody_wants_it_yet(moment: int) -> None:
    """A worker of xdist lives until all have ended: with one place, others would wait for it for ever."""
    limits = SharedLimits(1, lambda: float(moment), conversations=1)
    for name in ("a", "b"):
        limits.expect(name)
    idle = Report({"p": SlotUse(0, 0)}, conversations=SlotUse(0, 0), ends=True)
    limits.report("a", idle)
    grant = limits.report("b", Report({"p": SlotUse(0, 1)}, conversations=SlotUse(0, 1)))
    assert grant.parts["p"].size >= 1
    assert grant.conversations.size == 1
