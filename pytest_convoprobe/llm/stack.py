"""The layers between a run and its providers, put together."""

from __future__ import annotations

from ..settings.models import RunSettings
from .budget import Budget, Budgeted
from .limiter import START, Limited
from .litellm_adapter import LiteLLM
from .masking import TextRedactor
from .port import LLMReply, LLMRequest
from .retry import Retrying

_CEILING_FACTOR = 2


class LiveLLM:
    """Models over the network, for one run and one event loop: retry(limiter(budget(LiteLLM))).

    Retrying is outermost: a call that waits for its next attempt holds no place in the limiter, and each
    attempt queues anew, in order. The limiter comes next and sees every single attempt, so that it
    learns from each 429. The budget is checked last, when an attempt really goes out and not when
    it began to queue. The time limit of an attempt is the adapter's, so waiting doesn't count.
    """

    def __init__(self, run: RunSettings, redactor: TextRedactor, budget: Budget) -> None:
        self._adapter = LiteLLM(redactor)
        budgeted = Budgeted(self._adapter, budget, self._adapter.knows_price)
        ceiling = max(START, run.concurrency * _CEILING_FACTOR)
        self._outermost = Retrying(Limited(budgeted, ceiling=ceiling))

    def preload(self) -> None:
        """Starts the slow import in the background: for when a live call is certain to come."""
        self._adapter.preload()

    async def loaded(self) -> None:
        """Waits for an import that has begun, however it ends; returns at once if none has."""
        await self._adapter.loaded()

    async def complete(self, request: LLMRequest) -> LLMReply:
        return await self._outermost.complete(request)

    async def aclose(self) -> None:
        await self._outermost.aclose()


def build_llm(run: RunSettings, redactor: TextRedactor, budget: Budget) -> LiveLLM:
    """The way to the models of a run; nothing is imported or opened before the first call."""
    return LiveLLM(run, redactor, budget)
