"""Items of a stage on the machines of a Ray cluster: many worker processes, one driver.

Each worker process is an actor that keeps its own event loop and its own LiteLLM over many batches. One more
actor keeps the limits of all. Nothing but the driver (who iterates over `run`) writes the rows.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

from ...errors import SettingsError
from ...llm.shared_limits import Grant, Report, SharedLimits
from ...llm.stack import most_calls
from ...redaction import Redactor
from ...settings.models import RunSettings
from ...text import one_line, shorten
from ..rows.work import Item, RowResult, Task
from .process_pool import PoolLimits, ProcessLost, WorkerPool
from .remote_process import PACKAGE, LiveWorker, Make, Started, WorkerProcess
from .work_queue import WorkQueue

# Larger batches save little traffic and lose more work with a process.
BATCH = 8
START_TIMEOUT = 300.0
"""Seconds to wait for the cluster's first free processor: it may have to start a machine for it."""

_REACHING = 10.0
# Ray takes 30 % of the memory otherwise. Rows are small and go through the store one at a time.
_OWN_OBJECT_STORE = 200 * 2**20

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # What it says of lost workers, line by line: we say it ourselves, once. Ray reads this at its import.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}


class RayEngine:
    """An `Engine` on a Ray cluster.

    `address` is the cluster's (`auto`: the one that this machine belongs to). Without one it is the Ray that
    this process already uses, else the one that `RAY_ADDRESS` names, else one of our own on this machine,
    which ends with `aclose`. `workers` is the number of worker processes, as many as the cluster has
    processors if None. They divide `run.concurrency` among them; items go to them up to `batch` at a time.
    `make` makes what does the items in a process.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        batch: int = BATCH,
        *,
        make: Make = LiveWorker,
        start_timeout: float = START_TIMEOUT,
    ) -> None:
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._workers = workers
        self._batch = batch
        self._make = make
        self._start_timeout = start_timeout
        self._connecting: asyncio.Future[bool] | None = None
        self._limits: Any = None

    async def run(self, task: Task, items: Iterable[Item]) -> AsyncIterator[RowResult]:
        """The outcomes as they come.

        Raises `SettingsError` if there is no cluster, and what a worker process says if it can't
        do the task.
        """
        source = iter(items)
        # With nothing to do no cluster is wanted, and no more workers than there are items for.
        first = list(islice(source, task.config.at_once(task.stage)))
        if not first:
            return
        await self._connect(task)
        queue = WorkQueue(chain(first, source))
        pool = WorkerPool(self._pool_limits(task, len(first)), queue, self._limits.forget.remote)
        try:
            async for outcome in pool.outcomes():
                yield outcome
        finally:
            await pool.aclose()

    async def aclose(self) -> None:
        """Ends what was started here; a Ray that was there before stays."""
        if self._connecting is None:
            return
        # If it was broken off while Ray was starting, that is only there now.
        await asyncio.wait([self._connecting])
        own = not self._connecting.exception() and self._connecting.result()
        self._connecting = None
        if own:
            await asyncio.to_thread(_ray().shutdown)
        elif self._limits is not None:
            _ray().kill(self._limits)
        self._limits = None

    async def _connect(self, task: Task) -> None:
        """Once for all stages: they share what they learn of the providers, and what they spend."""
        if self._connecting is None:
            # It takes some seconds. In the main thread Ray would replace the host's handler of SIGTERM.
            self._connecting = asyncio.ensure_future(
                asyncio.to_thread(_connect, self._address, self._workers)
            )
        await asyncio.shield(self._connecting)
        if self._limits is None:
            self._limits = _start_limits(task.config.run)

    def _pool_limits(self, task: Task, most: int) -> PoolLimits:
        workers, in_flight = min(self._workers or _processors(), most), task.config.at_once(task.stage)
        per_worker = math.ceil(in_flight / workers)
        # A quarter of what a process does at once: it never idles while a batch is on its way.
        batch_size = min(self._batch, max(1, per_worker // 4))
        kind = _ray().remote(WorkerProcess).options(num_cpus=1, scheduling_strategy="SPREAD")
        # Processes elsewhere have their own idea of what a relative path starts from.
        start = partial(_Actor, kind, _absolute(task), self._limits, self._make)
        return PoolLimits(start, workers, in_flight, per_worker, batch_size, self._start_timeout)


class _Actor:
    """A `Remote` that is an actor: a process of its own, on whichever machine has a processor free."""

    def __init__(self, kind: Any, task: Task, limits: Any, make: Make, name: str) -> None:
        self._redactor = Redactor(task.secrets)
        self._lost = _ray().exceptions.RayError
        self._actor = kind.remote(task, partial(_exchange, limits, name), make)

    async def ready(self) -> Started:
        try:
            started: Started = await self._actor.ready.remote()
        except self._lost as error:
            raise self._loss(error) from error
        return started

    async def do(self, items: Sequence[Item]) -> AsyncIterator[RowResult]:
        try:
            async for reference in self._actor.do.remote(items):
                yield await reference
        except self._lost as error:
            raise self._loss(error) from error

    async def aclose(self) -> None:
        try:
            await self._actor.aclose.remote()
        except self._lost as error:
            raise self._loss(error) from error

    def kill(self) -> None:
        _ray().kill(self._actor)

    def _loss(self, error: Exception) -> ProcessLost:
        # A process that couldn't even start would fail the same elsewhere: no other takes its place.
        gone = isinstance(error, _ray().exceptions.RayActorError) and not error.actor_init_failed
        return ProcessLost(shorten(self._redactor.text(_reason(error)), 300), defect=not gone)


def _reason(error: Exception) -> str:
    """Why an actor is lost, in Ray's words, without its numbers and without guesses."""
    text = one_line(str(error))
    start = max(0, text.find("The actor is dead because"))
    return text[start:].partition(" Some common causes")[0]


def _absolute(task: Task) -> Task:
    return replace(task, folder=task.folder.absolute(), root=task.root.absolute())


async def _exchange(limits: Any, name: str, report: Report) -> Grant:
    """A process's way to the limits; runs there."""
    try:
        answer: Grant = await limits.report.remote(name, report)
    except _ray().exceptions.RayError as error:
        raise ConnectionError(str(error)) from error
    return answer


def _start_limits(run: RunSettings) -> Any:
    """The actor with the cluster's limits: beside the driver, so that it is lost only with that."""
    ray = _ray()
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=True
    )
    # No processor of its own: it does little, and a cluster of one processor has none to spare.
    actor = ray.remote(SharedLimits).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here)
    return actor.remote(most_calls(run), max_cost=run.max_cost, max_tokens=run.max_tokens)


def _ray() -> Any:
    """The module. Raises `SettingsError` where it isn't installed."""
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise SettingsError.of(
            f'this needs Ray, which is not installed: pip install "{PACKAGE}[ray]"'
        ) from error
    return ray


def _connect(address: str | None, workers: int | None) -> bool:
    """Connect this process to a cluster, or start one on this machine; whether it is to be ended by us."""
    if (address or "").startswith("ray://"):
        raise SettingsError.of(
            f"{address}: a Ray client (ray://) can't be used; run this on a machine of the cluster, with the "
            "address auto, or as a job (`ray job submit`)"
        )
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    ray = _ray()
    if ray.is_initialized():
        return False
    logging.getLogger("ray").setLevel(logging.ERROR)
    local = _local_options(workers) if address in (None, "local") else {}
    try:
        _reach(address or "local")
        ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **local)
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError.of(f"no Ray cluster at {address or 'local'}: {one_line(str(error))}") from error
    return True


def _reach(address: str) -> None:
    """Raises `OSError` if nobody listens at `HOST:PORT`: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHING).close()


def _local_options(workers: int | None) -> dict[str, Any]:
    return {
        "num_cpus": max(workers or 0, os.cpu_count() or 1),
        "include_dashboard": False,
        "object_store_memory": _OWN_OBJECT_STORE,
    }


def _processors() -> int:
    """How many the cluster has."""
    return max(1, int(_ray().cluster_resources().get("CPU", 1)))
