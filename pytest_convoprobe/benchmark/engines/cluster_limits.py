"""What the processes of a cluster may do together: calls at once to each provider, and spending.

One `ClusterLimits` has a window for each provider and the sum of what was spent. Each process is a `Member`
of it: every quarter of a second it reports what it does and gets its part of the windows. The parts never add
up to more than the window, which adapts to the provider exactly as one process's would. No Ray in here.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...llm.budget import Budget, Spent
from ...llm.limiter import Slots, Window

# Short enough that a call rarely waits for its slot longer than a model takes to answer.
INTERVAL = 0.25
"""Seconds between two reports of a process."""

_ROUNDED_DOWN = 1 - 1e-9

_MOST_REPORTS = 400
"""Reports a second that one process can well answer: in larger clusters each reports less often."""


@dataclass(frozen=True)
class SlotUse:
    """What a process does with its part of a provider's window, and what it saw since its last report.

    `refused` is the latest ticket among the calls that got a 429 (0: none did), `paused` the seconds for
    which the provider still wants to be left alone.
    """

    active: int
    waiting: int
    succeeded: int = 0
    refused: int = 0
    paused: float = 0.0


@dataclass(frozen=True)
class WindowPart:
    """What a process may do until its next report. All calls that it sends until then have this `ticket`."""

    size: int = 0
    ticket: int = 0
    paused: float = 0.0


@dataclass(frozen=True)
class Report:
    """All that a process reports: its use by provider, what it has spent, what its calls in flight may.

    `calls` are those that the budget has let go or holds back.
    """

    uses: Mapping[str, SlotUse]
    spent: Spent = field(default_factory=Spent)
    reserved: Spent = field(default_factory=Spent)
    calls: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether it has calls to make, so that it needs a share of the budget."""
        return self.calls > 0 or any(use.active or use.waiting for use in self.uses.values())


@dataclass(frozen=True)
class Grant:
    """What it gets back: its part by provider, what all others have spent, seconds until its next report.

    `promised` is what others may spend on top, without asking again.
    """

    parts: Mapping[str, WindowPart]
    elsewhere: Spent = field(default_factory=Spent)
    interval: float = INTERVAL
    promised: Spent = field(default_factory=Spent)


def fair_parts(size: int, wanted: Sequence[int], turn: int = 0) -> list[int]:
    """Divide `size` places: nobody is short of a place while another has more than one above it.

    What is left when all have what they want is divided evenly too, so that whoever wants more in a moment
    needn't ask. Odd places go to those from `turn` on, round robin.
    """
    parts = [0] * len(wanted)
    order = [(turn + index) % len(wanted) for index in range(len(wanted))]
    left = _fill(parts, order, size, wanted)
    _fill(parts, order, left, [part + left for part in parts])
    return parts


def _fill(parts: list[int], order: list[int], left: int, limits: Sequence[int]) -> int:
    """Raise all parts evenly up to their limits; how many places are left."""
    while left and (hungry := [index for index in order if parts[index] < limits[index]]):
        level = max(1, min(left // len(hungry), min(limits[index] - parts[index] for index in hungry)))
        for index in hungry[:left]:
            parts[index] += level
        left -= level * len(hungry[:left])
    return left


@dataclass
class _Provider:
    """A provider's window and who has which part of it."""

    window: Window
    granted: dict[str, int] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    paused_until: float = 0.0

    def report(self, member: str, use: SlotUse, now: float) -> WindowPart:
        for _ in range(use.succeeded):
            self.window.succeeded()
        if use.refused:
            self.window.rate_limited(use.refused)
        self.paused_until = max(self.paused_until, now + use.paused)
        self.wanted[member] = use.active + use.waiting
        size = min(self._fair(member, now), self._free_beside(member))
        # What is out can't be called back: others get these places when they have come free.
        self.granted[member] = max(size, use.active)
        return WindowPart(size, self.window.send(), max(0.0, self.paused_until - now))

    def forget(self, member: str) -> None:
        self.granted.pop(member, None)
        self.wanted.pop(member, None)

    def _fair(self, member: str, now: float) -> int:
        members = sorted(self.wanted)
        # With fewer places than members each has its turn, a second long.
        parts = fair_parts(self.window.size, [self.wanted[name] for name in members], int(now))
        return parts[members.index(member)]

    def _free_beside(self, member: str) -> int:
        taken = sum(size for name, size in self.granted.items() if name != member)
        return max(0, self.window.size - taken)


class _Shares:
    """One limit of a budget, divided: what each member may have spent in all before it reports again.

    The shares never add up to more than the limit. So members that spend at the same time keep to it together
    as one process would.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._spent: dict[str, float] = {}
        self._shares: dict[str, float] = {}
        self._busy: set[str] = set()

    def report(self, member: str, spent: float, reserved: float, busy: bool) -> float:
        """The share of a member that has spent so much, and whose calls in flight may use `reserved`."""
        self._spent[member] = spent
        (self._busy.add if busy else self._busy.discard)(member)
        others = sum(share for name, share in self._shares.items() if name != member)
        left = max(0.0, self._limit - sum(self._spent.values()))
        wanted = max(reserved, left / max(1, len(self._busy)) if busy else 0.0)
        self._shares[member] = spent + max(0.0, min(wanted, self._limit - others - spent))
        return self._shares[member]

    def forget(self, member: str) -> None:
        """It spends nothing more."""
        self._busy.discard(member)
        self._shares[member] = self._spent.get(member, 0.0)


class ClusterLimits:
    """The windows of a cluster, each up to `ceiling`, and what its processes have spent.

    Places granted to a member are its own until it reports again or is forgotten. So the members together
    never have more than the window, except for calls that were in progress when it shrank. The budget (US
    dollars and tokens, None: no limit) is divided in the same way.
    """

    def __init__(
        self,
        ceiling: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        max_cost: float | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._ceiling = ceiling
        self._clock = clock
        self._costs = None if max_cost is None else _Shares(max_cost)
        self._tokens = None if max_tokens is None else _Shares(max_tokens)
        self._limits = Spent(max_cost or 0.0, max_tokens or 0)
        self._providers: dict[str, _Provider] = {}
        self._spent: dict[str, Spent] = {}
        self._gone: set[str] = set()

    def report(self, member: str, report: Report) -> Grant:
        """What a member may do from now on."""
        self._spent[member] = report.spent
        # It was taken for lost, but still reports: its places are others' by now.
        if member in self._gone:
            return Grant({name: WindowPart() for name in report.uses})
        now = self._clock()
        parts = {name: self._provider(name).report(member, use, now) for name, use in report.uses.items()}
        others = sum((spent for name, spent in self._spent.items() if name != member), Spent())
        interval = max(INTERVAL, len(self._spent.keys() - self._gone) / _MOST_REPORTS)
        return Grant(parts, others, interval, self._promised(member, report, others))

    def _promised(self, member: str, report: Report, others: Spent) -> Spent:
        """What the budget lacks for a member beside what others have spent: their shares."""
        cost, tokens, busy = 0.0, 0.0, report.is_busy
        if self._costs is not None:
            spent, reserved = report.spent.cost or 0.0, report.reserved.cost or 0.0
            share = self._costs.report(member, spent, reserved, busy)
            cost = (self._limits.cost or 0.0) - share - (others.cost or 0.0)
        if self._tokens is not None:
            share = self._tokens.report(member, report.spent.tokens, report.reserved.tokens, busy)
            tokens = self._limits.tokens - share - others.tokens
        # Rounded down: otherwise the last token could be everybody's, and nobody's to spend.
        return Spent(max(0.0, cost) * _ROUNDED_DOWN, max(0, math.floor(tokens)))

    def forget(self, member: str) -> None:
        """A member is gone: its places are free. What it has spent stays spent."""
        self._gone.add(member)
        for shares in (self._costs, self._tokens):
            if shares is not None:
                shares.forget(member)
        for provider in self._providers.values():
            provider.forget(member)

    def window(self, provider: str) -> int:
        """How many calls at once the provider is trusted with."""
        return self._provider(provider).window.size

    def _provider(self, name: str) -> _Provider:
        if name not in self._providers:
            self._providers[name] = _Provider(Window(self._ceiling))
        return self._providers[name]


class SharedSlots(Slots):
    """A provider's slots in one process, whose number the cluster's limits decide.

    `urgent` is called when they are to know something at once. What happens is kept until it was reported.
    """

    def __init__(self, urgent: Callable[[], None]) -> None:
        self._own = _OwnPart(self._refuse)
        super().__init__(self._own)
        self._urgent = urgent
        self._asked_until = 0.0
        self._refused = 0

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        if _now() + seconds > self._asked_until + INTERVAL:
            self._asked_until = _now() + seconds
            self._urgent()

    def use(self) -> SlotUse:
        """What there is to report."""
        paused = max(0.0, self._asked_until - _now())
        return SlotUse(self.active, self.waiting, self._own.succeeded_calls, self._refused, paused)

    def apply(self, reported: SlotUse, part: WindowPart) -> None:
        """Take in the answer to a report."""
        self._own.succeeded_calls -= reported.succeeded
        if self._refused == reported.refused:
            self._refused = 0
        self._own.part = part
        super().pause(part.paused)
        self.admit()

    def _refuse(self, ticket: int) -> None:
        self._refused = max(self._refused, ticket)
        # Calls that were sent before the last answer say nothing new.
        if ticket == self._own.part.ticket:
            self._urgent()


class _OwnPart:
    """The `WindowPart` of `SharedSlots`."""

    def __init__(self, refuse: Callable[[int], None]) -> None:
        self.part = WindowPart()
        self.succeeded_calls = 0
        self.rate_limited = refuse

    @property
    def size(self) -> int:
        return self.part.size

    def send(self) -> int:
        return self.part.ticket

    def succeeded(self) -> None:
        self.succeeded_calls += 1


Exchange = Callable[[Report], Awaitable[Grant]]
"""Takes a report to the cluster's limits and brings the answer. Raises `ConnectionError` if it can't now."""


class Member:
    """The limits as one process sees them: slots by provider for the limiter, and a budget kept up to date.

    `run` reports until it is cancelled.
    """

    def __init__(self, exchange: Exchange, budget: Budget) -> None:
        self._exchange = exchange
        self._budget = budget
        self._slots: dict[str, SharedSlots] = {}
        self._wake = asyncio.Event()

    def slots_of(self, provider: str) -> Slots:
        """Those of a provider; at first there are none, and they are asked for at once."""
        self._slots[provider] = SharedSlots(self._wake.set)
        self._wake.set()
        return self._slots[provider]

    async def run(self) -> None:
        """Report again and again: after each interval, and when something can't wait."""
        interval = INTERVAL
        while True:
            self._wake.clear()
            # If the limits can't be reached, the last grant is still valid; all is reported the next time.
            with contextlib.suppress(ConnectionError):
                interval = await self.report()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._wake.wait(), interval)

    async def report(self) -> float:
        """Report once and apply the answer; seconds until the next report. Raises `ConnectionError`."""
        uses = {name: slots.use() for name, slots in self._slots.items()}
        report = Report(uses, self._budget.spent, self._budget.reserved, self._budget.calls)
        answer = await self._exchange(report)
        self._budget.promise(answer.elsewhere, answer.promised)
        for name, use in report.uses.items():
            self._slots[name].apply(use, answer.parts[name])
        return answer.interval


def _now() -> float:
    return asyncio.get_running_loop().time()
