"""Another attempt after a passing fault, with full jitter, and as late as the provider asks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ..errors import LLMError, LLMUnavailable
from .port import LLM, LLMReply, LLMRequest

LONGEST_RETRY_AFTER = 120.0
"""A provider that asks for a longer wait than this (seconds) is not waited for."""

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
_RATE_LIMIT_FACTOR = 4


@dataclass(frozen=True)
class Patience:
    """How many attempts a call may take.

    A 429 says that the provider is well and busy, so it has a budget of its own, larger than
    that of faults: a run on a narrow limit gets slower, not red. Both are 0 for `max_attempts` 1.
    """

    max_attempts: int

    def allows(self, faults: int, rate_limits: int) -> bool:
        """Whether one more attempt is due after so many failed ones."""
        retries = self.max_attempts - 1
        return faults <= retries and rate_limits <= retries * _RATE_LIMIT_FACTOR


class Retrying:
    """Wraps an `LLM`: repeats attempts that fail with `LLMUnavailable`, up to `ModelSettings.max_attempts`.

    Replies and errors tell the number of attempts. `rng` draws the waits; `sleep` is for tests.
    """

    def __init__(
        self,
        inner: LLM,
        *,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._inner = inner
        self._rng = rng or random.Random()  # noqa: S311 - spreads waits, keeps no secret
        self._sleep = sleep

    async def complete(self, request: LLMRequest) -> LLMReply:
        patience = Patience(request.model.max_attempts)
        faults = rate_limits = attempts = 0
        while True:
            try:
                reply = await self._inner.complete(request)
                return replace(reply, attempts=attempts + reply.attempts)
            except LLMError as error:
                failure = error
            attempts += failure.attempts
            failure.attempts = attempts
            rate_limits += failure.status == 429
            faults += failure.status != 429
            if not isinstance(failure, LLMUnavailable) or not patience.allows(faults, rate_limits):
                raise _counted(failure)
            await self._sleep(self._wait(failure, faults + rate_limits))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _wait(self, failure: LLMUnavailable, failed: int) -> float:
        """Seconds until the next attempt: drawn from zero to a bound that doubles (full jitter)."""
        jitter = self._rng.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failed - 1)))
        if failure.retry_after is None:
            return jitter
        if failure.retry_after > LONGEST_RETRY_AFTER:
            raise _too_long(failure, failure.retry_after)
        # Never earlier than asked, and not all at the same moment.
        return failure.retry_after + min(jitter, 1.0)


def _counted(failure: LLMError) -> LLMError:
    """The failure with the number of attempts in its words, if there were several."""
    if failure.attempts == 1:
        return failure
    failure.message = f"{failure.message} (after {failure.attempts} attempts)"
    failure.args = (failure.message,)
    return failure


def _too_long(failure: LLMUnavailable, asked: float) -> LLMError:
    failure.message = (
        f"{failure.message}; the provider asks to wait {asked:.0f} s, longer than "
        f"the {LONGEST_RETRY_AFTER:.0f} s that a call waits at most"
    )
    failure.args = (failure.message,)
    return failure
