"""Stand-ins for what does the items in a worker process of a cluster. Worker processes import this module."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_convoprobe.benchmark.models import Benchmark, BenchmarkConfig
from pytest_convoprobe.benchmark.work import Item, Outcome, Place, Task, Unit
from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.llm.budget import Budget
from pytest_convoprobe.llm.limiter import Slots
from pytest_convoprobe.llm.port import CallContext, LLMRequest, Message, Role
from pytest_convoprobe.llm.stack import build_llm
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.settings.models import ModelSettings, RunSettings


def task(folder: Path, *, concurrency: int = 8, **run: object) -> Task:
    config = BenchmarkConfig(run=RunSettings(concurrency=concurrency, **run))  # type: ignore[arg-type]
    return Task("simulate", Benchmark(name="b"), config, folder, folder)


def items(count: int, **payload: object) -> list[Item]:
    return [Item(Unit(Place(f"m01_s{n:03}_v01"), f"key{n}"), {"number": n, **payload}) for n in range(count)]


class Stand:
    """Waits a moment and says who did it; leaves a mark in the folder as it begins an item."""

    def __init__(self, task: Task, budget: Budget, slots_of: Callable[[str], Slots]) -> None:
        self._folder = task.folder

    async def do(self, item: Item) -> Outcome:
        mark = f"{item.payload['number']} {os.getpid()} {time.monotonic()}\n"
        with (self._folder / f"began-{os.getpid()}").open("a") as file:
            file.write(mark)
        await asyncio.sleep(float(item.payload.get("seconds", 0.02)))
        if item.payload.get("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(item.unit, {"number": item.payload["number"], "process": os.getpid()})

    async def aclose(self) -> None:
        (self._folder / f"closed-{os.getpid()}").touch()
