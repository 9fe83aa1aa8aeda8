"""What the processes of a run may do together: calls at once to each provider, conversations, and spending.

One `SharedLimits` has a window for each provider and the sum of what was spent. Each process is a member of
it (`member.Member`): it reports what it does and gets its part of the windows. The parts never add up to more
than the window, which adapts to the provider exactly as one process's would. How the reports travel is the
business of others: by actors of Ray (`benchmark.engines.ray`), by xdist's own channels (`limits_channel`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .budget import Spent
from .limiter import Window

# Short enough that a call rarely waits for its slot longer than a model takes to answer.
INTERVAL = 0.25
"""Seconds between two reports of a process that has all it wants."""

SHORT_INTERVAL = 0.05
"""The same while something waits there, and while money is spent there that is limited."""

EVEN_SECONDS = 2.0
"""Seconds for which each process keeps its even part of the conversations, whatever it has reported."""

_ROUNDED_DOWN = 1 - 1e-9

_MOST_REPORTS = 400
"""Reports a second that one process can well answer: in larger clusters each reports less often."""

Alone = Literal["", "wanted", "used"]
"""Whether a process has, or wants to send, a call that may exceed the budget."""


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

    `calls` are those that the budget has let go or makes wait, `calls_waiting` only the latter.
    `conversations` is its use of the places for conversations; None: it has none of these. `ends`: it won't
    report for some time, or never again, so its places are free.
    """

    uses: Mapping[str, SlotUse]
    spent: Spent = field(default_factory=Spent)
    reserved: Spent = field(default_factory=Spent)
    calls: int = 0
    calls_waiting: int = 0
    alone: Alone = ""
    conversations: SlotUse | None = None
    ends: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether it has calls to make, so that it needs a share of the budget."""
        return self.calls > 0 or any(use.active or use.waiting for use in self.uses.values())

    @property
    def waits(self) -> bool:
        """Whether something waits there for what it gets back."""
        uses = [*self.uses.values(), *([self.conversations] if self.conversations else [])]
        return self.calls_waiting > 0 or any(use.waiting for use in uses)


@dataclass(frozen=True)
class Grant:
    """What it gets back: its part by provider, what all others have spent, seconds until its next report.

    `promised` is what others may spend on top, without asking again. `may_exceed`: it alone may send a call
    that might exceed the budget, until it reports that it has none in flight.
    """

    parts: Mapping[str, WindowPart]
    elsewhere: Spent = field(default_factory=Spent)
    interval: float = INTERVAL
    promised: Spent = field(default_factory=Spent)
    may_exceed: bool = True
    conversations: WindowPart = field(default_factory=WindowPart)


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
class _Places:
    """Places of one kind, for calls to a provider or for conversations, and who has how many of them."""

    window: Window
    granted: dict[str, int] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    paused_until: float = 0.0

    def report(self, member: str, use: SlotUse, least: Mapping[str, int], now: float) -> WindowPart:
        """The part of a member. `least` is what each counts as wanting, even if it has reported less."""
        for _ in range(use.succeeded):
            self.window.succeeded()
        if use.refused:
            self.window.rate_limited(use.refused)
        self.paused_until = max(self.paused_until, now + use.paused)
        self.wanted[member] = use.active + use.waiting
        wanted = {name: max(few, self.wanted.get(name, 0)) for name, few in least.items()}
        size = min(self._fair(member, wanted, now), self._free_beside(member))
        # What is out can't be called back: others get these places when they have come free.
        self.granted[member] = max(size, use.active)
        return WindowPart(size, self.window.send(), max(0.0, self.paused_until - now))

    def forget(self, member: str) -> None:
        self.granted.pop(member, None)
        self.wanted.pop(member, None)

    def _fair(self, member: str, wanted: Mapping[str, int], now: float) -> int:
        members = sorted(wanted)
        # With fewer places than members each has its turn, a second long.
        parts = fair_parts(self.window.size, [wanted[name] for name in members], int(now))
        return parts[members.index(member)]

    def _free_beside(self, member: str) -> int:
        taken = sum(size for name, size in self.granted.items() if name != member)
        return max(0, self.window.size - taken)


class _Alone:
    """Which of the members may exceed the budget by a call: one at a time, in turn."""

    def __init__(self) -> None:
        self._line: list[str] = []
        self._holder: str | None = None

    def report(self, member: str, alone: Alone) -> bool:
        """Whether a member may, until it reports that it doesn't."""
        if alone == "used":
            return True
        held = self._holder == member
        if held or not alone:
            self.forget(member)
        if alone and member not in self._line:
            self._line.append(member)
        if self._holder is None and self._line[:1] == [member]:
            self._holder = member
        return self._holder == member

    def forget(self, member: str) -> None:
        """It has no such call any more."""
        if member in self._line:
            self._line.remove(member)
        if self._holder == member:
            self._holder = None


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

    def forget(self, member: str, spent: float) -> None:
        """It spends nothing more than this."""
        self._busy.discard(member)
        self._spent[member] = self._shares[member] = spent


class SharedLimits:
    """The windows of a run, each up to `ceiling`, and what its processes have spent.

    Places granted to a member are its own until it reports again or is forgotten. So the members together
    never have more than the window, except for calls that were in progress when it shrank. The budget (US
    dollars and tokens, None: no limit) is divided in the same way, and together they exceed it by one call at
    most. `conversations` is how many of these there may be at once.
    """

    def __init__(
        self,
        ceiling: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        conversations: int = 1,
        max_cost: float | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._ceiling = ceiling
        self._clock = clock
        self._begun = clock()
        self._most_conversations = conversations
        self._conversations = _Places(Window(conversations, start=conversations))
        self._costs = None if max_cost is None else _Shares(max_cost)
        self._tokens = None if max_tokens is None else _Shares(max_tokens)
        self._limits = Spent(max_cost or 0.0, max_tokens or 0)
        self._alone = _Alone()
        self._providers: dict[str, _Places] = {}
        self._members: set[str] = set()
        self._spent: dict[str, Spent] = {}
        self._reported: dict[str, Report] = {}
        self._gone: set[str] = set()

    def expect(self, member: str) -> None:
        """A member that is there, though it may not report for long, or never."""
        self._members.add(member)

    def report(self, member: str, report: Report) -> Grant:
        """What a member may do from now on."""
        self._spent[member], self._reported[member] = report.spent, report
        # It was taken for lost, but still reports: its places are others' by now.
        if member in self._gone:
            return Grant({name: WindowPart() for name in report.uses}, may_exceed=False)
        self._members.add(member)
        now, least = self._clock(), dict.fromkeys(self._members, 0)
        parts = {
            name: self._provider(name).report(member, use, least, now) for name, use in report.uses.items()
        }
        others = sum((spent for name, spent in self._spent.items() if name != member), Spent())
        grant = Grant(
            parts,
            others,
            self._interval(report),
            self._promised(member, report, others),
            self._is_unlimited or self._alone.report(member, report.alone),
            self._conversations_of(member, report.conversations, now),
        )
        if report.ends:
            self._free_places_of(member)
        return grant

    def _interval(self, report: Report) -> float:
        # If a member crashes, its calls in flight count as spent: the last report should have them all.
        short = report.waits or (report.is_busy and not self._is_unlimited)
        return max(SHORT_INTERVAL if short else INTERVAL, len(self._members) / _MOST_REPORTS)

    @property
    def _is_unlimited(self) -> bool:
        return self._costs is None and self._tokens is None

    def _conversations_of(self, member: str, use: SlotUse | None, now: float) -> WindowPart:
        if use is None:
            return WindowPart()
        # Otherwise the first one would take all places, and for as long as its conversations last. The first
        # report of each has one conversation in it, and the next ones many.
        early = self._most_conversations // len(self._members) if now < self._begun + EVEN_SECONDS else 0
        return self._conversations.report(member, use, dict.fromkeys(self._members, early), now)

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

    def forget(self, member: str, spent: Spent | None = None) -> None:
        """A member is gone: its places are free. What it has spent stays spent.

        `spent` is that, if somebody knows more than its last report says. By the report alone, calls that
        were in flight count as spent too: their providers go on and charge for them.
        """
        if member in self._gone and spent is None:
            return
        self._gone.add(member)
        self._members.discard(member)
        last = self._reported.get(member, Report({}))
        self._settle(member, last.spent + last.reserved if spent is None else last.spent.at_least(spent))
        self._alone.forget(member)
        self._free_places_of(member)

    def _free_places_of(self, member: str) -> None:
        for places in (self._conversations, *self._providers.values()):
            places.forget(member)

    def _settle(self, member: str, spent: Spent) -> None:
        self._spent[member] = spent
        if self._costs is not None:
            self._costs.forget(member, spent.cost or 0.0)
        if self._tokens is not None:
            self._tokens.forget(member, spent.tokens)

    def window(self, provider: str) -> int:
        """How many calls at once the provider is trusted with."""
        return self._provider(provider).window.size

    def _provider(self, name: str) -> _Places:
        if name not in self._providers:
            self._providers[name] = _Places(Window(self._ceiling))
        return self._providers[name]
