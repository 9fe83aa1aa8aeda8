"""The driver's half of a cluster run, against worker processes that are played."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from importlib.metadata import version

import pytest

from pytest_convoprobe.benchmark.engines.process_pool import PoolLimits, ProcessLost, WorkerPool
from pytest_convoprobe.benchmark.engines.remote_process import Started
from pytest_convoprobe.benchmark.engines.work_queue import WorkQueue
from pytest_convoprobe.benchmark.rows.work import Item, RowResult
from pytest_convoprobe.errors import SettingsError, TargetStartError

from ..cluster_doubles import items

VERSION = version("pytest-convoprobe")
Start = Started | ProcessLost | None


class Played:
    """A worker process. It starts as told (None: never), and dies of items that are `deadly`."""

    def __init__(self, cluster: PlayedCluster, start: Start) -> None:
        self._cluster = cluster
        self._start = start
        self.at_once = self.peak = 0
        self.killed = self.closed = False
        self.did: list[list[int]] = []

    async def ready(self) -> Started:
        if self._start is None:
            await asyncio.Event().wait()
        if isinstance(self._start, ProcessLost):
            raise self._start
        assert self._start is not None
        return self._start

    async def do(self, items: Sequence[Item]) -> AsyncIterator[RowResult]:
        self.did.append([item.payload["number"] for item in items])
        self.at_once += len(items)
        self.peak = max(self.peak, self.at_once)
        self._cluster.count()
        for item in items:
            await asyncio.sleep(0)
            if self.killed or item.payload.get("deadly"):
                self.killed = True
                raise ProcessLost("signal 9")
            self.at_once -= 1
            yield RowResult(item.unit, {"number": item.payload["number"]})

    async def aclose(self) -> None:
        self.closed = True

    def kill(self) -> None:
        self.killed = True


class PlayedCluster:
    """Starts processes as told, in turn; the last way of starting is that of all others."""

    def __init__(self, *starts: Start) -> None:
        self._starts = list(starts or [Started(VERSION)])
        self.processes: dict[str, Played] = {}
        self.lost: list[str] = []
        self.peak = 0

    def start(self, name: str) -> Played:
        start = self._starts[min(len(self.processes), len(self._starts) - 1)]
        self.processes[name] = Played(self, start)
        return self.processes[name]

    def count(self) -> None:
        """Keep how many items all processes have at once, at most."""
        self.peak = max(self.peak, sum(process.at_once for process in self.processes.values()))

    def pool(
        self, items: Iterable[Item], *, workers: int = 2, most: int = 8, share: int = 4, batch: int = 2
    ) -> WorkerPool:
        limits = PoolLimits(self.start, workers, most, share, batch, start_timeout=0.05)
        return WorkerPool(limits, WorkQueue(iter(items)), self.lost.append)


async def outcomes(pool: WorkerPool) -> list[RowResult]:
    try:
        return [outcome async for outcome in pool.outcomes()]
    finally:
        await pool.aclose()


def made(outcomes: Iterable[RowResult]) -> Counter[int]:
    return Counter(outcome.row["number"] for outcome in outcomes if outcome.row)


async def test_every_item_has_one_outcome() -> None:
    assert made(await outcomes(PlayedCluster().pool(items(50)))) == Counter(range(50))


async def test_no_process_has_more_at_once_than_its_share() -> None:
    cluster = PlayedCluster()
    await outcomes(cluster.pool(items(50), share=4))
    assert [process.peak for process in cluster.processes.values()] == [4, 4]


async def test_all_processes_together_have_no_more_than_the_run_may() -> None:
    cluster = PlayedCluster()
    await outcomes(cluster.pool(items(50), workers=3, most=7, share=3, batch=1))
    assert cluster.peak == 7


async def test_items_are_taken_only_as_there_is_room_for_them() -> None:
    asked: list[int] = []

    def source() -> Iterable[Item]:
        for item in items(50):
            asked.append(item.payload["number"])
            yield item

    async with aclosing(PlayedCluster().pool(source(), workers=2, share=4).outcomes()) as coming:
        await coming.__anext__()
        assert len(asked) <= 8


async def test_what_a_lost_process_had_is_done_by_another() -> None:
    cluster = PlayedCluster()
    pool = cluster.pool(items(50))
    found: list[RowResult] = []
    async for outcome in pool.outcomes():
        found.append(outcome)
        if len(found) == 10:
            next(iter(cluster.processes.values())).killed = True
    await pool.aclose()
    assert made(found) == Counter(range(50))
    assert len(cluster.processes) == 3


async def test_an_item_that_kills_its_process_fails_alone_with_the_reason() -> None:
    deadly = items(1, deadly=True)
    cluster = PlayedCluster()
    found = await outcomes(cluster.pool(deadly + items(20)[1:]))
    assert made(found) == Counter(range(1, 20))
    (failed,) = (outcome for outcome in found if outcome.row is None)
    assert failed.unit == deadly[0].unit
    assert failed.failure == "3 worker processes were lost while they did this; the last: signal 9"


async def test_a_lost_process_gives_back_its_part_of_the_limits() -> None:
    cluster = PlayedCluster()
    await outcomes(cluster.pool(items(1, deadly=True) + items(9)[1:], workers=1))
    assert cluster.lost == list(cluster.processes)


async def test_at_the_end_processes_are_closed_and_ended() -> None:
    cluster = PlayedCluster()
    await outcomes(cluster.pool(items(5)))
    assert all(process.closed and process.killed for process in cluster.processes.values())


async def test_leaving_early_closes_and_ends_them_too() -> None:
    cluster = PlayedCluster()
    pool = cluster.pool(items(50))
    async with aclosing(pool.outcomes()) as coming:
        await coming.__anext__()
    await pool.aclose()
    ready = [process for process in cluster.processes.values() if process.did]
    assert ready
    assert all(process.closed for process in ready)
    assert all(process.killed for process in cluster.processes.values())


async def test_a_process_that_is_lost_as_it_starts_is_replaced() -> None:
    cluster = PlayedCluster(ProcessLost("gone"), Started(VERSION))
    assert made(await outcomes(cluster.pool(items(9), workers=1))) == Counter(range(9))


async def test_when_none_ever_starts_the_run_says_why() -> None:
    cluster = PlayedCluster(ProcessLost("gone"))
    with pytest.raises(SettingsError, match="no worker process starts on the cluster: gone; each machine"):
        await outcomes(cluster.pool(items(9)))
    assert len(cluster.processes) == 7


async def test_a_defect_at_the_start_is_not_tried_again() -> None:
    cluster = PlayedCluster(ProcessLost("No module named 'pytest_convoprobe'", defect=True))
    with pytest.raises(SettingsError, match="No module named 'pytest_convoprobe'"):
        await outcomes(cluster.pool(items(9), workers=1))
    assert len(cluster.processes) == 1


async def test_one_process_does_it_all_where_no_more_start() -> None:
    cluster = PlayedCluster(Started(VERSION), None)
    assert made(await outcomes(cluster.pool(items(20)))) == Counter(range(20))


async def test_a_cluster_without_a_free_processor_is_not_waited_for_for_ever() -> None:
    with pytest.raises(
        SettingsError, match=r"no free processor for a worker process in 0\.05 s; see `ray status`"
    ):
        await outcomes(PlayedCluster(None).pool(items(9)))


async def test_what_a_process_refuses_is_raised() -> None:
    refused = TargetStartError("agents/shop.py: no such file")
    with pytest.raises(TargetStartError, match="no such file"):
        await outcomes(PlayedCluster(Started(VERSION, refused)).pool(items(9)))


async def test_another_version_on_a_machine_is_refused() -> None:
    with pytest.raises(
        SettingsError, match=r"has pytest-convoprobe 0\.0\.9, this one has .*; install the same"
    ):
        await outcomes(PlayedCluster(Started("0.0.9")).pool(items(9)))
