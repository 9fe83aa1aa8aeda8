"""The worker processes of one run: started, given work, replaced when they are lost. No Ray in here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import count
from typing import Any, Protocol

from ...errors import SettingsError
from ...formatting import exact_seconds
from ..rows.work import Item, RowResult
from .remote_process import PACKAGE, Started
from .work_queue import Batch, WorkQueue

_CLOSING = 5.0
"""Seconds that processes have to break off what they do."""

_MOST_FAILED_STARTS = 3
"""For each process there is to be, in a row."""


class ProcessLost(Exception):
    """A process is gone, or can't be reached.

    `defect` says that something is wrong with it, so that another in its place would fail as well.
    """

    def __init__(self, reason: str, *, defect: bool = False) -> None:
        super().__init__(reason)
        self.defect = defect


class Remote(Protocol):
    """A `WorkerProcess` somewhere else. All but `kill` raise `ProcessLost`."""

    async def ready(self) -> Started: ...

    def do(self, items: Sequence[Item]) -> AsyncIterator[RowResult]: ...

    async def aclose(self) -> None: ...

    def kill(self) -> None: ...


@dataclass(frozen=True)
class PoolLimits:
    """How many processes there are, how one is started, and what each is given.

    `max_in_flight` items over all workers, `per_worker` in one, `batch_size` per hand-out. The first worker
    may take `start_timeout` seconds to start.
    """

    start: Callable[[str], Remote]
    workers: int
    max_in_flight: int
    per_worker: int
    batch_size: int
    start_timeout: float


@dataclass(eq=False)
class _Process:
    """A worker process as the driver sees it; `out` counts its items."""

    name: str
    remote: Remote
    ready: bool = False
    out: int = 0
    alone: bool = False


_Event = Callable[[], Iterable[RowResult]]


class WorkerPool:
    """The driver's half of a run: what happens comes as events into one queue, and all state changes
    where they are taken out.

    `on_worker_lost` gets the name of each process that is gone.
    """

    def __init__(self, limits: PoolLimits, queue: WorkQueue, on_worker_lost: Callable[[str], None]) -> None:
        self._limits = limits
        self._queue = queue
        self._on_worker_lost = on_worker_lost
        self._numbers = count(1)
        self._processes: list[_Process] = []
        self._failed_starts = 0
        self._following: set[asyncio.Future[None]] = set()
        self._events: asyncio.Queue[_Event] = asyncio.Queue()

    async def outcomes(self) -> AsyncIterator[RowResult]:
        """One of each item.

        Raises what a process says that can't do the task, and `SettingsError` if none starts.
        """
        for _ in range(self._limits.workers):
            self._start()
        while not self._queue.finished:
            event = await self._events.get()
            for outcome in event():
                yield outcome
            self._hand_out()

    async def aclose(self) -> None:
        """Has the processes break off, for so long as that may take, and ends them."""
        for future in self._following:
            future.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        closing = [
            asyncio.ensure_future(process.remote.aclose()) for process in self._processes if process.ready
        ]
        if closing:
            # A process that can't be reached any more doesn't matter now: it is killed below.
            await asyncio.wait([asyncio.gather(*closing, return_exceptions=True)], timeout=_CLOSING)
        for process in tuple(self._processes):
            self._remove(process)

    def _start(self) -> None:
        name = f"{id(self):x}-{next(self._numbers)}"
        process = _Process(name, self._limits.start(name))
        self._processes.append(process)
        self._follow(self._await_start(process))

    def _remove(self, process: _Process) -> None:
        self._processes.remove(process)
        process.remote.kill()
        self._on_worker_lost(process.name)

    def _hand_out(self) -> None:
        """Give every process as much as it has room for."""
        left = self._limits.max_in_flight - sum(process.out for process in self._processes)
        for process in self._processes:
            while process.ready and not process.alone and self._has_room(process, left):
                batch = self._queue.take(self._limits.batch_size, idle=process.out == 0)
                if batch is None:
                    break
                left -= len(batch.items)
                process.out += len(batch.items)
                process.alone = batch.alone
                self._follow(self._await_outcomes(process, batch))

    def _has_room(self, process: _Process, left: int) -> bool:
        return self._limits.batch_size <= min(left, self._limits.per_worker - process.out)

    def _follow(self, coroutine: Coroutine[Any, Any, None]) -> None:
        future = asyncio.ensure_future(coroutine)
        self._following.add(future)
        future.add_done_callback(self._following.discard)

    async def _await_start(self, process: _Process) -> None:
        """Reports that the process has started, or that it can't."""
        late = asyncio.get_running_loop().call_later(
            self._limits.start_timeout, self._events.put_nowait, self._nobody_starts
        )
        try:
            event: _Event = partial(self._started, process, await process.remote.ready())
        except ProcessLost as error:
            event = partial(self._start_failed, process, error)
        finally:
            late.cancel()
        self._events.put_nowait(event)

    async def _await_outcomes(self, process: _Process, batch: Batch) -> None:
        """Reports each outcome of a batch, and how the batch ends."""
        try:
            async for outcome in process.remote.do(batch.items):
                self._events.put_nowait(partial(self._delivered, process, outcome))
        except ProcessLost as error:
            self._events.put_nowait(partial(self._lost, process, batch, error))
        else:
            self._events.put_nowait(partial(self._done, process))

    def _started(self, process: _Process, started: Started) -> Iterable[RowResult]:
        if started.refused is not None:
            raise started.refused
        if started.version != version(PACKAGE):
            raise SettingsError.of(
                f"a machine of the cluster has {PACKAGE} {started.version}, this one has {version(PACKAGE)}; "
                "install the same version on all of them"
            )
        process.ready = True
        self._failed_starts = 0
        return ()

    def _start_failed(self, process: _Process, error: ProcessLost) -> Iterable[RowResult]:
        """A machine may have gone in that moment; but something may be wrong with all of them."""
        self._remove(process)
        self._failed_starts += 1
        if not error.defect and self._failed_starts < _MOST_FAILED_STARTS * self._limits.workers:
            self._start()
        # One process is enough to end the run; without any, nobody would ever say why nothing happens.
        elif not self._somebody_is_ready():
            raise SettingsError.of(
                f"no worker process starts on the cluster: {error}; each machine needs the same Python, "
                f"Ray and {PACKAGE} as this one"
            )
        return ()

    def _nobody_starts(self) -> Iterable[RowResult]:
        if not self._somebody_is_ready():
            raise SettingsError.of(
                "the cluster had no free processor for a worker process in "
                f"{exact_seconds(self._limits.start_timeout)}; see `ray status`, and end what uses it or add "
                "machines"
            )
        return ()

    def _somebody_is_ready(self) -> bool:
        return any(process.ready for process in self._processes)

    def _delivered(self, process: _Process, outcome: RowResult) -> Iterable[RowResult]:
        process.out -= 1
        return (outcome,) if self._queue.delivered(outcome) else ()

    def _done(self, process: _Process) -> Iterable[RowResult]:
        process.alone = False
        return ()

    def _lost(self, process: _Process, batch: Batch, error: ProcessLost) -> Iterable[RowResult]:
        """A process is gone, with all its batches: it comes to this for each of these."""
        given_up = self._queue.lost(batch, str(error))
        if process in self._processes:
            self._remove(process)
            if not self._queue.finished:
                self._start()
        return given_up
