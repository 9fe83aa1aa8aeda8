"""One process's half of an engine: its models, the row maker of the step, and what becomes of an item."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ...errors import BudgetExceeded, ConvoprobeError, LLMRejected, SettingsError, TargetStartError
from ...llm.budget import Budget
from ...llm.ledger import Ledger, Spending
from ...llm.metered import Metered
from ...llm.port import LLM
from ...llm.recording import Recording, file_name
from ...llm.replay import Replaying
from ...llm.stack import LiveLLM, build_llm
from ...redaction import Redactor
from ..rows.work import Item, Place, Row, RowMaker, RowResult, Task
from ..stages.registry import row_maker

MakesRows = Callable[[Task], RowMaker]

_FINAL = (LLMRejected, SettingsError, TargetStartError)
"""What would meet the next row of the same target as well."""


class Worker:
    """Does the items of one task in this process, any number at once on one event loop.

    `llm` replaces the live models and stays open; `make_rows` replaces the step's own.
    """

    def __init__(self, task: Task, llm: LLM | None = None, *, make_rows: MakesRows = row_maker) -> None:
        self._task = task
        self._redactor = Redactor(task.secrets)
        self._own = models_of(task) if llm is None else None
        self._llm: LLM = self._own if llm is None else llm  # type: ignore[assignment]
        self._row_maker = make_rows(task)

    async def do(self, item: Item) -> RowResult:
        """What becomes of an item. Whatever goes wrong is in the outcome; only cancellation is raised."""
        ledger = Ledger()
        try:
            row = await self._recorded(item, ledger)
        except BudgetExceeded as error:
            return replace(self._failed(item, str(error), ledger, over_budget=True), remedies=error.remedies)
        except ConvoprobeError as error:
            failed = self._failed(item, str(error), ledger, rejected=isinstance(error, _FINAL))
            return replace(failed, remedies=error.remedies)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a defect, or `sys.exit` in a target: one row's, not the run's
            return self._failed(item, f"unexpected {type(error).__name__}: {error}", ledger)
        return RowResult(item.unit, self._redactor.data(row), spending=_spent(ledger))

    async def aclose(self) -> None:
        """Let go of the targets, and of the models if they are this worker's own."""
        await self._row_maker.aclose()
        if self._own is not None:
            await self._own.aclose()

    async def _recorded(self, item: Item, ledger: Ledger) -> Row:
        """Make the row with a recording around it."""
        await self._loaded()
        recording = Recording.open(self._recording_path(item.unit.place))
        replaying = Replaying(self._llm, recording, self._task.config.run.replay, self._redactor)
        return await replaying.around(self._row_maker.make(item, Metered(replaying, ledger)))

    async def _loaded(self) -> None:
        """The import of the models' library is nobody's turn: it is waited for before one begins."""
        if isinstance(self._llm, LiveLLM):
            if self._task.config.run.calls_live:
                self._llm.preload()
            await self._llm.loaded()

    def _recording_path(self, place: Place) -> Path:
        """One file for all samples of a row."""
        task = self._task
        stage = f"{task.stage}-{place.target}" if place.target else task.stage
        name = f"{place.id}@{place.metric_id}" if place.metric_id else place.id
        return task.folder / task.config.run.recordings / stage / f"{file_name(name)}.json"

    def _failed(
        self, item: Item, reason: str, ledger: Ledger, *, over_budget: bool = False, rejected: bool = False
    ) -> RowResult:
        masked = self._redactor.text(reason)
        return RowResult(item.unit, None, masked, _spent(ledger), over_budget, rejected)


def models_of(task: Task, budget: Budget | None = None) -> LiveLLM:
    """The way to the models for a task; its own budget, unless one is given, is this process's share."""
    run = task.config.run
    own = budget or Budget(run.max_cost, run.max_tokens, workers=task.workers)
    return build_llm(run, Redactor(task.secrets), own)


def _spent(ledger: Ledger) -> Mapping[str, Spending]:
    return {role.value: spending for role, spending in ledger.by_role.items()}
