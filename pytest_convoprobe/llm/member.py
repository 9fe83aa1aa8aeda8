"""One process's half of limits that processes share: its slots, its places for conversations, its budget."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from .budget import Budget
from .limiter import Slots
from .shared_limits import INTERVAL, Grant, Report, SlotUse, WindowPart


class SharedSlots(Slots):
    """A provider's slots in one process, whose number the shared limits decide.

    `urgent` is called when these have to know something at once. What happens is kept until it was reported.
    """

    def __init__(self, urgent: Callable[[], None]) -> None:
        self._own = _OwnPart(self._refuse)
        super().__init__(self._own)
        self._urgent = urgent
        self._asked_until = 0.0
        self._refused = 0
        self._short = False

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        if _now() + seconds > self._asked_until + INTERVAL:
            self._asked_until = _now() + seconds
            self._urgent()

    def admit(self) -> None:
        super().admit()
        # Once: until the answer to the report, and then at each short interval, the same is known.
        before, self._short = self._short, self.waiting > 0
        if self._short and not before:
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


class SharedPlaces:
    """How many conversations this process may have at once, as the shared limits decide: `size`.

    `changed` is called when there are more. Everything here happens on one event loop.
    """

    def __init__(self, urgent: Callable[[], None]) -> None:
        self.size = 0
        self.changed: Callable[[], object] = bool
        self._urgent = urgent
        self._use: SlotUse | None = None

    def note(self, active: int, waiting: int) -> None:
        """So many have a place, and so many wait for one."""
        waited = self._use is not None and self._use.waiting > 0
        self._use = SlotUse(active, waiting)
        if waiting and not waited:
            self._urgent()

    def use(self) -> SlotUse | None:
        """What there is to report; None if there never was a conversation."""
        return self._use

    def apply(self, part: WindowPart) -> None:
        """Take in the answer to a report."""
        self.size = part.size
        self.changed()


Exchange = Callable[[Report], Awaitable[Grant]]
"""Takes a report to the shared limits and brings the answer. Raises `ConnectionError` if it can't now."""


class Member:
    """The limits as one process sees them, on one event loop.

    `slots_of` is for the limiter, `conversations` for the pool, and the budget is kept up to date. It begins
    to report with `start`, or with the first conversation that wants a place.
    """

    def __init__(self, exchange: Exchange, budget: Budget) -> None:
        self.budget = budget
        self.conversations = SharedPlaces(self.start)
        self._exchange = exchange
        self._slots: dict[str, SharedSlots] = {}
        self._wake = asyncio.Event()
        self._reporting: asyncio.Future[None] | None = None
        # A process that is not alone asks before it exceeds anything.
        budget.may_exceed = False
        budget.on_wait = self._wake.set

    def slots_of(self, provider: str) -> Slots:
        """Those of a provider; at first there are none, and they are asked for at once."""
        self._slots[provider] = SharedSlots(self._wake.set)
        self._wake.set()
        return self._slots[provider]

    def start(self) -> None:
        """Report from now on: after each interval, and when something can't wait, as at this moment."""
        if self._reporting is None:
            self._reporting = asyncio.ensure_future(self._run())
        self._wake.set()

    async def aclose(self) -> None:
        """Report for the last time; it can be started again."""
        if self._reporting is not None:
            self._reporting.cancel()
            await asyncio.gather(self._reporting, return_exceptions=True)
            self._reporting = None
            with contextlib.suppress(ConnectionError):
                await self.report(ends=True)

    async def _run(self) -> None:
        interval = INTERVAL
        while True:
            self._wake.clear()
            # If the limits can't be reached, the last grant is still valid; all is reported the next time.
            with contextlib.suppress(ConnectionError):
                interval = await self.report()
            # Not `wait_for`, which swallows a cancellation at the moment when what it waits for is there.
            alarm = asyncio.get_running_loop().call_later(interval, self._wake.set)
            await self._wake.wait()
            alarm.cancel()

    async def report(self, *, ends: bool = False) -> float:
        """Report once, perhaps for the last time, and apply the answer; seconds until the next report.

        Raises `ConnectionError`.
        """
        budget, uses = self.budget, {name: slots.use() for name, slots in self._slots.items()}
        report = Report(
            uses,
            budget.spent,
            budget.reserved,
            budget.calls,
            budget.calls_waiting,
            budget.alone,
            self.conversations.use(),
            ends,
        )
        # Whoever reports that it has no such call gives back the leave to send one.
        budget.may_exceed = report.alone == "used"
        answer = await self._exchange(report)
        budget.may_exceed = answer.may_exceed
        budget.promise(answer.elsewhere, answer.promised)
        for name, use in report.uses.items():
            self._slots[name].apply(use, answer.parts[name])
        if report.conversations is not None:
            self.conversations.apply(answer.conversations)
        return answer.interval


def _now() -> float:
    return asyncio.get_running_loop().time()
