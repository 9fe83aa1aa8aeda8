"""The limits on what a run may spend: a call reserves an estimate before it is sent, and settles after it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..errors import BudgetExceeded
from ..formatting import counted, dollars


@dataclass(frozen=True)
class Spent:
    """What a run has used so far: US dollars (None once a call's price was unknown) and tokens."""

    cost: float | None = 0.0
    tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        known = self.cost is not None and other.cost is not None
        cost = (self.cost or 0.0) + (other.cost or 0.0) if known else None
        return Spent(cost, self.tokens + other.tokens)

    def at_least(self, other: Spent) -> Spent:
        """The larger one of each."""
        known = self.cost is not None and other.cost is not None
        return Spent(
            max(self.cost or 0.0, other.cost or 0.0) if known else None, max(self.tokens, other.tokens)
        )


# Ten times 0.1 is less than 1: what floating point leaves is too little for anybody to have a share of it.
_ALL = 1 - 1e-9

Expectation = Callable[[], Spent | None]
"""What a call may use, as far as it is known at this moment; None: nothing is."""


@dataclass(eq=False)
class Reservation:
    """What was set aside for a call that is in flight; None: nothing is known of it, so it goes alone.

    `may_exceed`: it is not certain to fit into what is left.
    """

    estimate: Spent | None
    may_exceed: bool = False


class Budget:
    """The limits of a run, in US dollars and in tokens (None: no limit), and what was spent.

    Several processes have one budget if they report to each other: `elsewhere` is what the others have spent
    of the same limits, `promised` what they may spend on top until they report again (`promise`). Otherwise
    they divide the limits (`divide_among`).

    A call is sent if its estimate fits beside those in flight, or if nothing is in flight, the limit isn't
    reached, and this process `may_exceed` it. So the limit is exceeded by one call at most, if what calls use
    was estimated well enough. It belongs to one event loop.
    """

    def __init__(self, max_cost: float | None = None, max_tokens: int | None = None) -> None:
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.may_exceed = True
        """Whether a call may be sent of which it isn't certain that it fits: in one process at a time."""
        self.on_wait: Callable[[], object] = bool
        """Called when calls begin to wait, and when one has ended that was sent by the leave to exceed."""
        self._workers = 1
        self._spent = Spent()
        self.elsewhere = Spent()
        self._promised = Spent()
        self._in_flight: set[Reservation] = set()
        self._line: deque[tuple[asyncio.Future[Reservation], Expectation]] = deque()
        self._guessed_calls = 0
        self._waits = False
        self._wants_to_exceed = False

    @property
    def spent(self) -> Spent:
        return self._spent

    @property
    def reserved(self) -> Spent:
        """What the calls in flight are expected to use."""
        return sum((one.estimate for one in self._in_flight if one.estimate), Spent())

    @property
    def calls(self) -> int:
        """How many are in flight or wait."""
        return len(self._in_flight) + self.calls_waiting

    @property
    def calls_waiting(self) -> int:
        """How many wait."""
        return len(self._line)

    @property
    def alone(self) -> Literal["", "wanted", "used"]:
        """Whether a call that may exceed the limits is in flight, or waits for the leave to."""
        if any(one.may_exceed for one in self._in_flight):
            return "used"
        return "wanted" if self._line and self._wants_to_exceed else ""

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    def check(self) -> None:
        """Raises `BudgetExceeded` if nothing more may be spent."""
        spent = self._spent + self.elsewhere
        cost, tokens = spent.cost, spent.tokens
        # An unknown cost doesn't end the run here: `Budgeted` refuses the next call with its own words.
        if self.max_cost is not None and cost is not None and cost >= self.max_cost * _ALL / self._workers:
            raise self._exceeded(f"{dollars(cost)} spent", "run.max_cost", f"{self.max_cost:g}")
        if self.max_tokens is not None and tokens >= self.max_tokens / self._workers:
            raise self._exceeded(f"{tokens:,} tokens spent", "run.max_tokens", str(self.max_tokens))

    def _exceeded(self, spent: str, limit: str, allowed: str) -> BudgetExceeded:
        share = f"this worker's share, 1 in {self._workers}, of " if self._workers > 1 else ""
        return BudgetExceeded(
            f"the run's budget is used up: {spent}{self._estimated} of {share}{limit} {allowed}; "
            "raise it to continue",
            limit=limit,
        )

    @property
    def _estimated(self) -> str:
        calls = counted(self._guessed_calls, "call")
        return f" (estimated for {calls} that reported no usage)" if self._guessed_calls else ""

    async def reserve(self, estimate: Expectation) -> Reservation:
        """Set aside what a call may use. Hand the reservation to `settle` when it has ended.

        Waits, in order of arrival, while calls in flight hold what is left. Raises `BudgetExceeded` if
        nothing more may be spent.
        """
        # A function, because the calls that it waits for show what calls of its kind use.
        place: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()
        self._line.append((place, estimate))
        self.admit()
        try:
            return await place
        except asyncio.CancelledError:
            # Admitted and cancelled in the same step of the loop: the next call gets what it had.
            if place.done() and not place.cancelled() and place.exception() is None:
                self.settle(place.result(), Spent())
            self.admit()
            raise

    def settle(self, reservation: Reservation, spent: Spent, *, guessed: bool = False) -> None:
        """The call has ended and used this. `guessed`: nobody knows, so it is an estimate."""
        self._in_flight.discard(reservation)
        self._spent += spent
        self._guessed_calls += guessed
        if reservation.may_exceed:
            self.on_wait()
        self.admit()

    def promise(self, elsewhere: Spent, promised: Spent) -> None:
        """Take in what the other processes have spent, and what they may spend until they report again."""
        self.elsewhere, self._promised = elsewhere, promised
        self.admit()

    def divide_among(self, workers: int) -> None:
        """Keep to an equal share of the limits: the processes don't hear of each other."""
        self._workers, self.may_exceed = workers, True
        self.promise(Spent(), Spent())

    def admit(self) -> None:
        """Let those go who wait at the front and fit."""
        self._wants_to_exceed = False
        while self._line:
            place, estimate = self._line[0]
            if not place.done() and not self._admitted(place, estimate):
                return self._note_waiting()
            self._line.popleft()
        self._waits = False

    def _note_waiting(self) -> None:
        begins, self._waits = not self._waits, True
        if begins:
            self.on_wait()

    def _admitted(self, place: asyncio.Future[Reservation], estimate: Expectation) -> bool:
        """Whether the one at the front has not to wait any more: it may go, or never will."""
        try:
            self.check()
        except BudgetExceeded as error:
            place.set_exception(error)
            return True
        # Without a limit nobody waits for anybody, and nothing needs to be estimated.
        expected = estimate() if self.limited else None
        if not self._fits(expected):
            return False
        fits = expected is not None and self._within(self.reserved + expected, or_equal=True)
        reservation = Reservation(expected, may_exceed=self.limited and not fits)
        self._in_flight.add(reservation)
        place.set_result(reservation)
        return True

    def _fits(self, estimate: Spent | None) -> bool:
        if not self.limited:
            return True
        if not self._in_flight:
            return self._fits_alone(estimate)
        # Of a call about which nothing is known, anything may be in flight: it had to go alone.
        if estimate is None or any(one.estimate is None for one in self._in_flight):
            return False
        return self._within(self.reserved + estimate, or_equal=True)

    def _fits_alone(self, estimate: Spent | None) -> bool:
        if estimate is not None and self._within(estimate, or_equal=True):
            return True
        self._wants_to_exceed = not self.may_exceed
        return self.may_exceed and self._within(Spent(), or_equal=False)

    def _within(self, more: Spent, *, or_equal: bool) -> bool:
        """Whether the limits leave room for `more`, beside what is spent and what others may spend."""
        whole = self._spent + self.elsewhere + self._promised + more
        pairs = [(self.max_cost, whole.cost or 0.0), (self.max_tokens, float(whole.tokens))]
        limits = [(limit / self._workers, used) for limit, used in pairs if limit is not None]
        return all(used <= limit if or_equal else used < limit for limit, used in limits)

    def add(self, spent: Spent, *, guessed: bool = False) -> None:
        """Add what was spent without a call of ours, by an agent. `guessed`: it is an estimate of a call."""
        self._spent += spent
        self._guessed_calls += guessed
        self.admit()
