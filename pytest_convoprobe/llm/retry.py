"""Retries after temporary failures, with full jitter, and no earlier than the provider asks."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ..errors import LLMError, LLMUnavailable
from ..formatting import exact_seconds
from .port import LLM, LLMReply, LLMRequest
from .waits import CallInProgress, noted

LONGEST_RETRY_AFTER = 120.0
"""If a provider asks for a longer wait than this (seconds), the call fails at once."""

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
# With the default of 6 attempts, a call waits through some minutes of 429s before it fails.
_RATE_LIMIT_FACTOR = 4


@dataclass(frozen=True)
class Patience:
    """How many attempts a call may take.

    A 429 means that the provider works but is busy. So rate limits have a separate and larger allowance than
    faults: with a low rate limit, a run gets slower but does not fail. Both are 0 for `max_attempts` 1.
    """

    max_attempts: int

    def allows(self, faults: int, rate_limits: int) -> bool:
        """Whether to try again after this many failed attempts."""
        retries = self.max_attempts - 1
        return faults <= retries and rate_limits <= retries * _RATE_LIMIT_FACTOR


class Retrying:
    """Wraps an `LLM`: repeats attempts that fail with `LLMUnavailable`, up to `ModelSettings.max_attempts`.

    Replies and errors contain the number of attempts. `rng` chooses the waits. Tests replace `sleep`.
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
        with noted(request) as call:
            return await self._complete(request, call)

    async def _complete(self, request: LLMRequest, call: CallInProgress) -> LLMReply:
        patience = Patience(request.model.max_attempts)
        faults = rate_limits = attempts = 0
        begun = time.monotonic()
        while True:
            before = time.monotonic() - begun
            try:
                reply = await self._inner.complete(request)
                return replace(reply, attempts=attempts + reply.attempts, waited=before + reply.waited)
            except LLMError as error:
                failure = error
            attempts += failure.attempts
            failure.attempts = attempts
            # Counted apart: a fault after many 429s is still the first fault.
            rate_limits += failure.status == 429
            faults += failure.status != 429
            if not isinstance(failure, LLMUnavailable) or not patience.allows(faults, rate_limits):
                raise _counted(failure)
            wait = self._wait(failure, faults + rate_limits)
            call.failed(failure.message, wait)
            await self._sleep(wait)
            call.try_again()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _wait(self, failure: LLMUnavailable, failed: int) -> float:
        """Seconds until the next attempt: random between zero and a bound that doubles (full jitter)."""
        jitter = self._rng.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failed - 1)))
        if failure.retry_after is None:
            return jitter
        if failure.retry_after > LONGEST_RETRY_AFTER:
            raise _too_long(failure, failure.retry_after)
        # Never earlier than requested; the jitter keeps calls from returning all at the same moment.
        return failure.retry_after + min(jitter, 1.0)


def _counted(failure: LLMError) -> LLMError:
    """The failure, with the number of attempts in its message if there were several."""
    if failure.attempts == 1:
        return failure
    failure.message = f"{failure.message} (after {failure.attempts} attempts)"
    failure.args = (failure.message,)
    return failure


def _too_long(failure: LLMUnavailable, asked: float) -> LLMError:
    failure.message = (
        f"{failure.message}; the provider asks to wait {exact_seconds(round(asked))}, longer than "
        f"the {exact_seconds(LONGEST_RETRY_AFTER)} that a call waits at most"
    )
    failure.args = (failure.message,)
    return failure
