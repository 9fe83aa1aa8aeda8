"""The engine of one process: one event loop, and so many items at once as the run may have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from ...llm.budget import Budget
from ...llm.limiter import Slots
from ...llm.port import LLM
from ...llm.stack import LiveLLM
from ...settings.models import RunSettings
from ..rows.work import Engine, Item, RowResult, Task
from ..stages.registry import row_maker
from .worker import ItemsAtOnce, MakesRows, Worker, budget_of, models_of


class LocalEngine:
    """Does the items of tasks on the running event loop, as many at once as `run.concurrency` says.

    All tasks share the models, with their limits, and one budget: that of the first task, unless `budget`
    is given. `slots_of` returns the limiter's slots for a provider if other processes share them. `llm`
    replaces the live models and is closed by whoever made it; `make_rows` replaces the steps' own.
    """

    def __init__(
        self,
        *,
        llm: LLM | None = None,
        budget: Budget | None = None,
        slots_of: Callable[[str], Slots] | None = None,
        make_rows: MakesRows = row_maker,
    ) -> None:
        self._given = llm
        self._budget = budget
        self._slots_of = slots_of
        self._make_rows = make_rows
        self._live: LiveLLM | None = None

    async def run(self, task: Task, items: Iterable[Item]) -> AsyncIterator[RowResult]:
        """The outcomes as they come. Leaving early, or a cancellation, ends what is being made."""
        # A worker for each task, the models for all: limits learned in one stage serve the next.
        worker = Worker(task, self._models(task), budget=self._budget, make_rows=self._make_rows)
        at_once = ItemsAtOnce(worker)
        try:
            async for outcome in at_once.outcomes(items, task.config.at_once(task.stage)):
                yield outcome
        finally:
            await at_once.aclose()

    async def aclose(self) -> None:
        """Let go of the models."""
        if self._live is not None:
            await self._live.aclose()

    def _models(self, task: Task) -> LLM:
        if self._given is not None:
            return self._given
        if self._live is None:
            self._budget = self._budget or budget_of(task)
            self._live = models_of(task, self._budget, self._slots_of)
        return self._live


@asynccontextmanager
async def engine_or_local(
    given: Engine | None, run: RunSettings, llm: LLM | None = None
) -> AsyncIterator[Engine]:
    """The engine that is given, which stays open; else one of this process, with one budget for its life."""
    if given is not None:
        yield given
        return
    local = LocalEngine(llm=llm, budget=Budget(run.max_cost, run.max_tokens))
    try:
        yield local
    finally:
        await local.aclose()
