"""The layers between a run and its providers, put together."""

from __future__ import annotations

from collections.abc import Callable

from ..settings.model_settings import ModelSettings
from ..settings.models import RunSettings
from .bounded import Bounded
from .budget import Budget
from .by_lane import ByLane
from .limiter import START, Limited, Slots
from .masking import TextRedactor
from .port import LLMReply, LLMRequest, Price
from .retry import Retrying
from .schema_probe import SchemaUse
from .within_budget import Budgeted

_CEILING_FACTOR = 2


def most_calls(run: RunSettings) -> int:
    """The most simultaneous calls from a run to one provider, even if the provider could take more."""
    return max(START, run.concurrency * _CEILING_FACTOR)


class LiveLLM:
    """Models over the network, for one run and one event loop: bounded(retry(limiter(budget(lane)))).

    Retrying is outermost: a call that waits for its next attempt does not occupy a slot of the limiter, and
    each attempt queues again, in order. The limiter comes next and sees every single attempt, so it learns
    from each 429. The budget comes last: an attempt reserves its share when it is sent, not when it begins to
    queue. The adapter limits the time of an attempt, so time in the queue does not count.

    `slots_of` returns the limiter's slots for a provider, for processes that share their windows.
    """

    def __init__(
        self,
        run: RunSettings,
        redactor: TextRedactor,
        budget: Budget,
        slots_of: Callable[[str], Slots] | None = None,
    ) -> None:
        self._adapter = ByLane(redactor, run.max_text)
        budgeted = Budgeted(self._adapter, budget, self._adapter.knows_price, self._adapter.price_of)
        limited = Limited(budgeted, ceiling=most_calls(run), slots_of=slots_of)
        self._outermost = Bounded(Retrying(limited), run.max_text)

    def preload(self, *models: ModelSettings) -> None:
        """Start slow imports in the background. Call this only if live calls of these models are certain."""
        self._adapter.preload(*models)

    async def loaded(self) -> None:
        """Wait until imports that were started have ended, with or without success."""
        await self._adapter.loaded()

    async def price_of(self, settings: ModelSettings) -> Price | None:
        """US dollars for a prompt token and for a completion token, or None if unknown."""
        return await self._adapter.price_of(settings)

    def schema_use(self, settings: ModelSettings) -> SchemaUse | None:
        """What calls have shown about schemas at this endpoint; None if none has been sent."""
        return self._adapter.schema_use(settings)

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
    """Connect a run to its models. Nothing is imported or opened before the first call."""
    return LiveLLM(run, redactor, budget, slots_of)
