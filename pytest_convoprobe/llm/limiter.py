"""How many calls a provider gets at once: as many as it bears, found out while calling.

The policy (`Window`) is pure; `Slots` puts it on an event loop; `Limited` wraps an `LLM`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from ..errors import LLMUnavailable
from ..settings.models import ModelSettings
from .port import LLM, LLMReply, LLMRequest
from .retry import LONGEST_RETRY_AFTER

START = 16
_CUT = 0.8


class Allowance(Protocol):
    """How many calls there may be at once, and what it hears of them: a `Window`, or a part of one."""

    @property
    def size(self) -> int: ...

    def send(self) -> int: ...

    def succeeded(self) -> None: ...

    def rate_limited(self, ticket: int) -> None: ...


class Window:
    """The number of calls at once that the provider is trusted with, from 1 to `ceiling`.

    Each success adds one until the provider first says 429; from then on a whole window of
    successes adds one. An episode of 429s cuts a fifth: calls that had been sent before the cut
    say nothing new, so their 429s don't cut again. Other failures change nothing.
    """

    def __init__(self, ceiling: int, start: int = START) -> None:
        self._ceiling = max(1, ceiling)
        self._size = float(min(start, self._ceiling))
        self._slow_start = True
        self._sent = 0
        self._first_after_cut = 0

    @property
    def size(self) -> int:
        return int(self._size)

    def send(self) -> int:
        """A call goes out; the ticket stands for it in the outcomes below."""
        self._sent += 1
        return self._sent

    def succeeded(self) -> None:
        growth = 1.0 if self._slow_start else 1.0 / self._size
        self._size = min(float(self._ceiling), self._size + growth)

    def rate_limited(self, ticket: int) -> None:
        if ticket <= self._first_after_cut:
            return
        self._slow_start = False
        self._size = max(1.0, self._size * _CUT)
        self._first_after_cut = self._sent


class Slots:
    """The window of one provider on an event loop; waiting calls go first come, first served."""

    def __init__(self, window: Allowance) -> None:
        self.window = window
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def active(self) -> int:
        """Calls that are out."""
        return self._active

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        return sum(not place.done() for place in self._waiting)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Waits for a place; the ticket goes into `Window.rate_limited`."""
        await self._acquire()
        try:
            yield self.window.send()
        finally:
            self._active -= 1
            self.admit()

    def pause(self, seconds: float) -> None:
        """Nobody is admitted for so long; calls that are out go on."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

    async def _acquire(self) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self.admit()
        try:
            await place
        except asyncio.CancelledError:
            # Admitted and cancelled at once: the place goes to the next one.
            if place.done() and not place.cancelled():
                self._active -= 1
            self.admit()
            raise

    def admit(self) -> None:
        """Lets in as many as the window has room for; to be called when it has grown by itself."""
        loop = asyncio.get_running_loop()
        if self._paused_until > loop.time():
            self._wake_after_pause(loop)
            return
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

    `ceiling` bounds each window; `slots_of` gives a provider's slots where the windows are not this process's
    own. A 429 with a Retry-After holds back everybody who calls that provider.
    """

    def __init__(self, inner: LLM, *, ceiling: int, slots_of: Callable[[str], Slots] | None = None) -> None:
        self._inner = inner
        self._slots_of = slots_of or (lambda _: Slots(Window(ceiling)))
        self._slots: dict[str, Slots] = {}

    async def complete(self, request: LLMRequest) -> LLMReply:
        slots = self.slots(request.model)
        async with slots.slot() as ticket:
            try:
                reply = await self._inner.complete(request)
            except LLMUnavailable as error:
                if error.status == 429:
                    slots.window.rate_limited(ticket)
                    # Nobody waits longer than that: each call may find out for itself, and fail at once.
                    if error.retry_after is not None and error.retry_after <= LONGEST_RETRY_AFTER:
                        slots.pause(error.retry_after)
                raise
            slots.window.succeeded()
            return reply

    async def aclose(self) -> None:
        await self._inner.aclose()

    def slots(self, settings: ModelSettings) -> Slots:
        """Those of the provider that such a call goes to."""
        provider = provider_of(settings)
        if provider not in self._slots:
            self._slots[provider] = self._slots_of(provider)
        return self._slots[provider]


def provider_of(settings: ModelSettings) -> str:
    """Who is called: the address where it is set, else the first part of the model string."""
    return settings.api_base or (settings.model or "").partition("/")[0]
