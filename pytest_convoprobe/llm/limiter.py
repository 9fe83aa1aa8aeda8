"""How many simultaneous calls a provider gets: as many as it can take, measured during the run.

The policy (`Window`) is pure; `Slots` puts it on an event loop; `Limited` wraps an `LLM`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol

from ..errors import LLMUnavailable
from ..settings.model_settings import ModelSettings
from .port import LLM, LLMReply, LLMRequest
from .retry import LONGEST_RETRY_AFTER

# What is sent at first, unless the concurrency is larger: enough to begin quickly, and few enough that the
# first 429s of a strict provider are few.
START = 16
# Half, as TCP does, would waste much: most 429s come from limits per minute, not from overload.
_CUT = 0.8


class Allowance(Protocol):
    """How many simultaneous calls are allowed, adjusted by their outcomes: a `Window`, or a share of one."""

    @property
    def size(self) -> int: ...

    def send(self) -> int: ...

    def succeeded(self) -> None: ...

    def rate_limited(self, ticket: int) -> None: ...


class Window:
    """The number of simultaneous calls to a provider, from 1 to `ceiling`.

    It starts at half of the ceiling, which is the run's concurrency, but at 16 at least. Until the first 429,
    each success adds one. After it, a whole window of successes adds one. A group of 429s cuts the window
    once, by a fifth: calls that were sent before the cut carry no new information, so their 429s do not cut
    again. Other failures change nothing.
    """

    def __init__(self, ceiling: int, start: int | None = None) -> None:
        self._ceiling = max(1, ceiling)
        # Who has many conversations run at once says that the provider takes their calls: the first of each
        # need not wait until the window has grown.
        self._size = float(min(start or max(START, ceiling // 2), self._ceiling))
        self._slow_start = True
        self._sent = 0
        self._first_after_cut = 0

    @property
    def size(self) -> int:
        return int(self._size)

    def send(self) -> int:
        """Count a call that is sent. The ticket identifies it in `rate_limited`."""
        self._sent += 1
        return self._sent

    def succeeded(self) -> None:
        # As TCP does: doubling per round trip first, then one more per round trip.
        growth = 1.0 if self._slow_start else 1.0 / self._size
        self._size = min(float(self._ceiling), self._size + growth)

    def rate_limited(self, ticket: int) -> None:
        if ticket <= self._first_after_cut:
            return
        self._slow_start = False
        self._size = max(1.0, self._size * _CUT)
        self._first_after_cut = self._sent


class Slots:
    """The window of one provider on an event loop; waiting calls are served in order of arrival."""

    def __init__(self, window: Allowance) -> None:
        self.window = window
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def active(self) -> int:
        """Calls that were sent and have not ended."""
        return self._active

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot."""
        return sum(not place.done() for place in self._waiting)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a slot. Pass the ticket to `Window.rate_limited`."""
        await self._acquire()
        try:
            yield self.window.send()
        finally:
            self._active -= 1
            self.admit()

    def pause(self, seconds: float) -> None:
        """Admit no call for this long. Calls that were already sent continue."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

    async def _acquire(self) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self.admit()
        try:
            await place
        except asyncio.CancelledError:
            # Admitted and cancelled in the same step of the loop: the slot goes to the next call.
            if place.done() and not place.cancelled():
                self._active -= 1
            self.admit()
            raise

    def admit(self) -> None:
        """Admit as many calls as the window has room for. Call this when the window has grown by itself."""
        loop = asyncio.get_running_loop()
        if self._paused_until > loop.time():
            self._wake_after_pause(loop)
            return
        # Counted here and not by whoever wakes: between the two, another call could take the same slot.
        while self._waiting and self._active < self.window.size:
            place = self._waiting.popleft()
            if not place.done():
                self._active += 1
                place.set_result(None)

    def _wake_after_pause(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = loop.call_at(self._paused_until, self.admit)


class Limited:
    """Wraps an `LLM`: one window for each provider, shared by all models and roles that use it.

    `ceiling` limits each window. `slots_of` returns a provider's slots if processes share the windows. A 429
    with a Retry-After pauses all calls to that provider.
    """

    def __init__(self, inner: LLM, *, ceiling: int, slots_of: Callable[[str], Slots] | None = None) -> None:
        self._inner = inner
        self._slots_of = slots_of or (lambda _: Slots(Window(ceiling)))
        self._slots: dict[str, Slots] = {}

    async def complete(self, request: LLMRequest) -> LLMReply:
        slots, asked = self.slots(request.model), time.monotonic()
        async with slots.slot() as ticket:
            waited = time.monotonic() - asked
            try:
                reply = await self._inner.complete(request)
            except LLMUnavailable as error:
                if error.status == 429:
                    slots.window.rate_limited(ticket)
                    # `Retrying` does not wait longer than that: without a pause, each call fails at once.
                    if error.retry_after is not None and error.retry_after <= LONGEST_RETRY_AFTER:
                        slots.pause(error.retry_after)
                raise
            slots.window.succeeded()
            return replace(reply, waited=waited)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def slots(self, settings: ModelSettings) -> Slots:
        """The slots of the provider that receives a call with these settings."""
        provider = provider_of(settings)
        if provider not in self._slots:
            self._slots[provider] = self._slots_of(provider)
        return self._slots[provider]


def provider_of(settings: ModelSettings) -> str:
    """The provider's name: the address if it is set, otherwise the first part of the model string."""
    # Limits are a server's: two models behind one address share them.
    return settings.api_base or (settings.model or "").partition("/")[0]
