"""Stand-ins for what does the items in a worker process of a cluster. Worker processes import this module."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from pytest_convoprobe.benchmark.format.models import Benchmark, BenchmarkConfig
from pytest_convoprobe.benchmark.rows.work import Item, Place, RowResult, Task, Unit
from pytest_convoprobe.errors import BudgetExceeded, Problem, SettingsError
from pytest_convoprobe.llm.budget import Budget, Spent
from pytest_convoprobe.llm.limiter import Slots
from pytest_convoprobe.settings.models import RunSettings


def task(folder: Path, *, concurrency: int = 8, **run: object) -> Task:
    config = BenchmarkConfig(run=RunSettings(concurrency=concurrency, **run))  # type: ignore[arg-type]
    return Task("simulate", Benchmark(name="b"), config, folder, folder)


def items(count: int, **payload: object) -> list[Item]:
    return [Item(Unit(Place(f"m01_s{n:03}_v01"), f"key{n}"), {"number": n, **payload}) for n in range(count)]


class Stand:
    """Waits a moment and says who did it; leaves marks in the folder when it begins and when it is closed.

    An item's payload may say how many `seconds` it takes, that it waits until so many `processes` have begun,
    and that it is `deadly`.
    """

    def __init__(self, task: Task, budget: Budget, slots_of: Callable[[str], Slots]) -> None:
        self._folder = task.folder

    async def do(self, item: Item) -> RowResult:
        (self._folder / f"began-{os.getpid()}").touch()
        while len(list(self._folder.glob("began-*"))) < item.payload.get("processes", 1):
            await asyncio.sleep(0.05)
        await asyncio.sleep(float(item.payload.get("seconds", 0.02)))
        if item.payload.get("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        return RowResult(item.unit, {"number": item.payload["number"], "process": os.getpid()})

    async def aclose(self) -> None:
        (self._folder / f"closed-{os.getpid()}").touch()


class Spending:
    """Makes a call of 15 tokens for each item, as far as the budget goes."""

    def __init__(self, task: Task, budget: Budget, slots_of: Callable[[str], Slots]) -> None:
        self._budget = budget

    async def do(self, item: Item) -> RowResult:
        try:
            reservation = await self._budget.reserve(lambda: Spent(0.0, 15))
        except BudgetExceeded as error:
            return RowResult(item.unit, None, str(error), over_budget=True)
        await asyncio.sleep(0.1)
        self._budget.settle(reservation, Spent(0.0, 15))
        return RowResult(item.unit, {})

    async def aclose(self) -> None:
        pass


def refusing(task: Task, budget: Budget, slots_of: Callable[[str], Slots]) -> Spending:
    """A worker that can't be made for this task."""
    raise SettingsError((Problem("no such file", file="agents/shop.py"),))
