"""Calls with a time limit: they are given up at its end, and nothing of them stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

# How long the end of a run waits for calls that were given up, in seconds.
_LAST_WAIT = 5.0


class GivenUp:
    """The calls that nobody waits for any more. `cancel` ends one of them."""

    def __init__(self, cancel: Callable[[asyncio.Task[Any]], object] = asyncio.Task.cancel) -> None:
        self._cancel = cancel
        self._calls: set[asyncio.Task[Any]] = set()

    async def outcome(self, call: asyncio.Task[Any], seconds: float) -> Any:
        """The result of the call. It is given up if it takes too long (`TimeoutError`) or is cancelled."""
        try:
            # Not `wait_for`: it waits for a call that swallows its cancellation, and so do some HTTP clients.
            done, _ = await asyncio.wait({call}, timeout=seconds)
            if not done:
                raise asyncio.TimeoutError
            return call.result()
        finally:
            if not call.done():
                self._calls.add(call)
                call.add_done_callback(self._forget)
                self._cancel(call)

    async def ended(self) -> None:
        """Wait for all of them, but not for long."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=_LAST_WAIT)

    def _forget(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            # Nobody needs the outcome, but asyncio logs an exception that is never retrieved.
            call.exception()
