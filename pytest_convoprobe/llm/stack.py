"""The layers between a run and its providers, put together."""

from __future__ import annotations

from collections.abc import Callable

from ..settings.models import ModelSettings, RunSettings
from .budget import Budget, Budgeted
from .limiter import START, Limited, Slots
from .litellm_adapter import LiteLLM
from .masking import TextRedactor
from .port import LLMReply, LLMRequest
from .retry import Retrying

_CEILING_FACTOR = 2


def most_calls(run: RunSettings) -> int:
    """How many calls at once a run makes to one provider at most, however well that bears them."""
    return max(START, run.concurrency * _CEILING_FACTOR)


class LiveLLM:
    """Models over the network, for one run and one event loop: retry(limiter(budget(LiteLLM))).

    Retrying is outermost: a call that waits for its next attempt holds no place in the limiter, and each
    attempt queues anew, in order. The limiter comes next and sees every single attempt, so that it
    learns from each 429. The budget is checked last, when an attempt really goes out and not when
    it began to queue. The time limit of an attempt is the adapter's, so waiting doesn't count.

    `slots_of` gives the limiter's slots by provider, where processes share their windows.
    """

    def __init__(
        self,
        run: RunSettings,
        redactor: TextRedactor,
        budget: Budget,
        slots_of: Callable[[str], Slots] | None = None,
    ) -> None:
        self._adapter = LiteLLM(redactor)
        budgeted = Budgeted(self._adapter, budget, self._adapter.knows_price)
        self._outermost = Retrying(Limited(budgeted, ceiling=most_calls(run), slots_of=slots_of))

    def preload(self) -> None:
        """Starts the slow import in the background: for when a live call is certain to come."""
        self._adapter.preload()

    async def loaded(self) -> None:
        """Waits for an import that has begun, however it ends; returns at once if none has."""
        await self._adapter.loaded()

    async def price_of(self, settings: ModelSettings) -> tuple[float, float] | None:
        """US dollars for a prompt token and for a completion token; None if that is not known."""
        return await self._adapter.price_of(settings)

    async def complete(self, request: LLMRequest) -> LLMReply:
        return await self._outermost.complete(request)

    async def aclose(self) -> None:
        await self._outermost.aclose()


def build_llm(
    run: RunSettings,
    redactor: TextRedactor,
    budget: Budget,
    slots_of: Callable[[str], Slots] | None = None,
) -> LiveLLM:
    """The way to the models of a run; nothing is imported or opened before the first call."""
    return LiveLLM(run, redactor, budget, slots_of)
