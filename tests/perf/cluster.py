"""Throughput of two Ray workers on this machine beside one process, where the processor is the bound.

The work is a stand-in for conversations: twenty times each waits as for a model, then does as much
arithmetic as a call of LiteLLM takes of the processor (some 4 ms). Real calls would need a server that would
compete for the two cores. All else is real: the engines, Ray, the worker with its
recordings and ledger. What is measured is the rate after a quarter of the items is done, so that Ray's start
(some ten seconds) and that of its processes don't count, as in the long runs that a cluster is for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.benchmark.engines.ray import RayEngine
from pytest_convoprobe.benchmark.engines.worker import Worker
from pytest_convoprobe.benchmark.format.models import Benchmark, BenchmarkConfig
from pytest_convoprobe.benchmark.rows.work import Engine, Item, Place, Row, Task, Unit
from pytest_convoprobe.llm.budget import Budget
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.limiter import Slots
from pytest_convoprobe.llm.port import LLM
from pytest_convoprobe.settings.models import RunSettings

ITEMS, CALLS, CONCURRENCY = 240, 20, 32
_LATENCY = 0.02
_ARITHMETIC = 130_000


class Talking:
    """The stand-in: a `RowMaker` that takes the time and the processor of a conversation's calls."""

    def __init__(self, task: Task) -> None:
        pass

    async def make(self, item: Item, llm: LLM) -> Row:
        for _ in range(CALLS):
            await asyncio.sleep(_LATENCY)
            sum(range(_ARITHMETIC))
        return {"id": item.unit.place.id}

    async def aclose(self) -> None:
        pass


def worker(task: Task, budget: Budget, slots_of: Callable[[str], Slots]) -> Worker:
    """What does the items in a process of the cluster."""
    return Worker(task, FakeLLM([]), make_rows=Talking)


def speed_up(folder: Path) -> float:
    """How many times the rate of one process two Ray workers have."""
    return asyncio.run(_compare(folder))


async def _compare(folder: Path) -> float:
    alone = await _rate(LocalEngine(llm=FakeLLM([]), make_rows=Talking), folder)
    return await _rate(RayEngine(workers=2, make=worker), folder) / alone


async def _rate(engine: Engine, folder: Path) -> float:
    """Items a second, once a quarter of them is done."""
    settings = BenchmarkConfig(run=RunSettings(concurrency=CONCURRENCY))
    task = Task("simulate", Benchmark(name="load"), settings, folder, folder)
    items = [Item(Unit(Place(f"m01_s{n:03}_v01"), str(n)), {}) for n in range(ITEMS)]
    done = 0
    try:
        async with aclosing(engine.run(task, items)) as outcomes:
            async for _ in outcomes:
                done += 1
                if done == ITEMS // 4:
                    since = time.perf_counter()
        return (done - ITEMS // 4) / (time.perf_counter() - since)
    finally:
        await engine.aclose()
