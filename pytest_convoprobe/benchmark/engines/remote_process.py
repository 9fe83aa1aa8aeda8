"""What runs in each worker process of a cluster. No Ray in here: the engine makes an actor of it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ...errors import ConvoprobeError
from ...llm.budget import Budget
from ...llm.limiter import Slots
from ...llm.member import Exchange, Member
from ...llm.stack import build_llm
from ...project_code.pulse import pulse
from ...redaction import Redactor
from ..rows.work import Item, RowResult, Task
from .worker import DoesItems, ItemsAtOnce, Worker

PACKAGE = "pytest-convoprobe"
_STDERR = 2

Make = Callable[[Task, Budget, Callable[[str], Slots]], DoesItems]
"""Makes the worker of a process, with the budget and the slots that it shares with the cluster."""


class LiveWorker:
    """A `Worker` whose models are called within the limits of the cluster."""

    def __init__(self, task: Task, budget: Budget, slots_of: Callable[[str], Slots]) -> None:
        # This process is ours to end if a target keeps the interpreter: its items go to another one.
        pulse.enable(_STDERR)
        self._llm = build_llm(task.config.run, Redactor(task.secrets), budget, slots_of)
        self._worker = Worker(task, self._llm, budget=budget)

    async def do(self, item: Item) -> RowResult:
        return await self._worker.do(item)

    async def aclose(self) -> None:
        await self._worker.aclose()
        await self._llm.aclose()


@dataclass(frozen=True)
class Started:
    """How a process has started: the version of this package there, and why it can't do the task, if so."""

    version: str
    refused: ConvoprobeError | None = None


class WorkerProcess:
    """Does batches of items on the event loop of its process and gives each outcome as it comes.

    Its models are those of the task, within the limits that `exchange` brings from the cluster.
    """

    def __init__(self, task: Task, exchange: Exchange, make: Make = LiveWorker) -> None:
        self._task = task
        self._exchange = exchange
        self._make = make

    async def ready(self) -> Started:
        """Starts on the loop that everything here uses."""
        run = self._task.config.run
        budget = Budget(run.max_cost, run.max_tokens)
        member = self._member = Member(self._exchange, budget)
        # The first report brings the first part of the limits. Without one, calls wait for the next.
        with contextlib.suppress(ConnectionError):
            await member.report()
        try:
            self._at_once = ItemsAtOnce(self._make(self._task, budget, member.slots_of))
        except ConvoprobeError as error:
            return Started(version(PACKAGE), error)
        member.start()
        return Started(version(PACKAGE))

    async def do(self, items: Sequence[Item]) -> AsyncIterator[RowResult]:
        """All at once, in the order in which they finish."""
        # Ray streams what a method yields only if that is a generator itself.
        async for outcome in self._at_once.outcomes(items, len(items)):
            yield outcome

    async def aclose(self) -> None:
        """Breaks off what still runs and lets go of targets and models."""
        await self._at_once.aclose()
        # Last of all: what was spent since the last report counts for the next stage.
        await self._member.aclose()
