"""One process's half of an engine: the row maker of the step, and what becomes of its items."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from ...errors import BudgetExceeded, ConvoprobeError, LLMRejected, SettingsError, TargetStartError
from ...llm.agent_replay import AgentModelCalls
from ...llm.budget import Budget
from ...llm.ledger import Ledger, Spending
from ...llm.limiter import Slots
from ...llm.port import LLM, Role
from ...llm.recording import Recording, file_name
from ...llm.stack import LiveLLM, build_llm
from ...redaction import Redactor
from ...runs.pool import CancelledFromWithin
from ...runs.recorded_models import RecordedModels
from ..format.folder import BenchmarkFolder
from ..rows.call_log import CallLog
from ..rows.work import Item, Place, Row, RowMaker, RowResult, Task
from ..stages.registry import row_maker

MakesRows = Callable[[Task], RowMaker]

_NAMES = ("id", "key", "metric_id", "target")

_FINAL = (LLMRejected, SettingsError, TargetStartError)
"""What would meet the next row of the same target as well."""


class Worker:
    """Does the items of one task in this process, any number at once on one event loop.

    `llm` is the way to the models and stays open, `budget` the one that it keeps to; `make_rows` replaces the
    step's own.
    """

    def __init__(
        self, task: Task, llm: LLM, *, budget: Budget | None = None, make_rows: MakesRows = row_maker
    ) -> None:
        self._task = task
        self._redactor = Redactor(task.secrets)
        self._models = RecordedModels(llm, self._redactor, budget, task.config.run.max_text)
        self._row_maker = make_rows(task)
        self._calls = CallLog(BenchmarkFolder(task.folder).rows, task.stage)

    async def do(self, item: Item) -> RowResult:
        """What becomes of an item. Whatever goes wrong is in the outcome; only cancellation is raised."""
        ledger, ticket = self._ledger(item)
        # One for each item: its placeholders are those of one conversation.
        redactor = self._task.conversation_masking.redactor(self._redactor)
        result = await self._outcome(item, ledger, redactor)
        if redactor.problem is not None:
            result = RowResult(item.unit, None, str(redactor.problem), _spent(ledger), rejected=True)
        return replace(result, ticket=ticket)

    def _ledger(self, item: Item) -> tuple[Ledger, str]:
        """A ledger whose entries are written down at once, under a ticket: the process may die any time."""
        ticket, target = uuid4().hex[:16], item.unit.place.target

        def on_entry(role: Role, spent: Spending) -> None:
            if not spent.is_agents_own:
                self._calls.ended(ticket, target, role, spent)

        return Ledger(on_entry, partial(self._calls.sent, ticket, target)), ticket

    async def _outcome(self, item: Item, ledger: Ledger, redactor: Redactor) -> RowResult:
        try:
            row = await self._recorded(item, ledger, redactor)
        except BudgetExceeded as error:
            return replace(
                self._failed(item, redactor.text(str(error)), ledger, over_budget=True),
                remedies=error.remedies,
            )
        except ConvoprobeError as error:
            words = redactor.text(str(error))
            failed = self._failed(item, words, ledger, rejected=isinstance(error, _FINAL))
            return replace(failed, remedies=error.remedies)
        # Not an outcome: whoever cancels wants the item to stop, not a row about it.
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a defect, or `sys.exit` in a target: one row's, not the run's
            words = redactor.text(f"unexpected {type(error).__name__}: {error}")
            return self._failed(item, words, ledger)
        # What rows are found by has no personal data: nothing in it is taken for a number of somebody's.
        names = {name: row[name] for name in _NAMES if name in row}
        masked = {**redactor.data(row), **self._redactor.data(names)}
        return RowResult(item.unit, masked, spending=_spent(ledger))

    async def aclose(self) -> None:
        """Let go of the targets."""
        await self._row_maker.aclose()
        self._calls.close()

    async def _recorded(self, item: Item, ledger: Ledger, redactor: Redactor) -> Row:
        """Make the row with a recording around it."""
        run = self._task.config.run
        if run.calls_live:
            self._models.preload(*self._task.config.models)
        await self._models.loaded()
        recording = Recording.open(self._recording_path(item.unit.place), run.recordings)
        agent = self._agent(item.unit.place, recording, redactor)
        item = replace(item, agent=agent)
        return await self._models.around(
            recording, run.replay, ledger, lambda llm: self._row_maker.make(item, llm), redactor, agent
        )

    def _agent(self, place: Place, recording: Recording, redactor: Redactor) -> AgentModelCalls | None:
        """The calls that the target makes itself; None if it makes none."""
        config = self._task.config
        settings = config.target(place.target).settings if place.target else None
        if settings is None or settings.models is None:
            return None
        return AgentModelCalls(recording, config.run.replay, redactor, place.sample, settings.model_volatile)

    def _recording_path(self, place: Place) -> Path:
        """One file for all samples of a row."""
        task = self._task
        stage = f"{task.stage}-{place.target}" if place.target else task.stage
        name = f"{place.id}@{place.metric_id}" if place.metric_id else place.id
        return task.folder / task.config.run.recordings / stage / f"{file_name(name)}.json"

    def _failed(
        self, item: Item, reason: str, ledger: Ledger, *, over_budget: bool = False, rejected: bool = False
    ) -> RowResult:
        return RowResult(item.unit, None, reason, _spent(ledger), over_budget, rejected)


class DoesItems(Protocol):
    """Does items, many at a time on one event loop: a `Worker`."""

    async def do(self, item: Item) -> RowResult: ...

    async def aclose(self) -> None: ...


class ItemsAtOnce:
    """The items that a worker does at this moment."""

    def __init__(self, worker: DoesItems) -> None:
        self._worker = worker
        self._running: set[asyncio.Task[RowResult]] = set()

    async def outcomes(self, items: Iterable[Item], most: int) -> AsyncIterator[RowResult]:
        """Do items, `most` at once; their outcomes in the order in which they finish.

        Whoever leaves early calls `aclose`.
        """
        source, running = iter(items), dict[asyncio.Task[RowResult], Item]()
        while True:
            self._begin(source, running, most)
            if not running:
                return
            # Not `as_completed`: the set grows while it is waited for.
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            self._running.difference_update(done)
            for one in done:
                yield _outcome(one, running.pop(one))

    def _begin(self, source: Iterator[Item], running: dict[asyncio.Task[RowResult], Item], most: int) -> None:
        while len(running) < most and (item := next(source, None)) is not None:
            task = asyncio.ensure_future(self._worker.do(item))
            running[task] = item
            self._running.add(task)

    async def aclose(self) -> None:
        """Break off what still runs, and close the worker."""
        for task in self._running:
            task.cancel()
        # Before the worker closes its targets, which these may still be talking with.
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._worker.aclose()


def _outcome(done: asyncio.Task[RowResult], item: Item) -> RowResult:
    """What the task came to. Nobody outside has cancelled it: a target that cancels itself fails alone."""
    if done.cancelled():
        return RowResult(item.unit, None, str(CancelledFromWithin()))
    return done.result()


def models_of(
    task: Task, budget: Budget | None = None, slots_of: Callable[[str], Slots] | None = None
) -> LiveLLM:
    """The way to the models for a task, with its own budget and slots unless others are given."""
    return build_llm(task.config.run, Redactor(task.secrets), budget or budget_of(task), slots_of)


def budget_of(task: Task) -> Budget:
    """The budget of a task."""
    run = task.config.run
    return Budget(run.max_cost, run.max_tokens)


def _spent(ledger: Ledger) -> Mapping[str, Spending]:
    """What our calls cost. Tokens that an agent reports of its own are no costs of ours."""
    by_role = ledger.by_role.items()
    return {role.value: spending for role, spending in by_role if not spending.is_agents_own}
