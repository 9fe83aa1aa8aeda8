"""A stage for tests of what runs stages: each row holds what a model answered to its id."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.benchmark.engines.worker import MakesRows
from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.format.models import Benchmark, BenchmarkConfig, TargetEntry
from pytest_convoprobe.benchmark.pipeline.driver import (
    Silent,
    StageListener,
    StageReport,
    run_stage,
)
from pytest_convoprobe.benchmark.rows.table import Table
from pytest_convoprobe.benchmark.rows.work import Item, Place, Row, RowResult, Task, Unit
from pytest_convoprobe.benchmark.stages.options import Options
from pytest_convoprobe.benchmark.stages.tables import Tables
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import LLM, CallContext, LLMRequest, Message, Role
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import ModelTarget, RunSettings
from pytest_convoprobe.transcript import Usage

SPENT = {"target": Spending(1, 1, 0, Usage(10, 5), 0.25)}


def place(number: int = 1, target: str = "t1", sample: int = 1) -> Place:
    return Place(f"m01_s{number:03d}_v01", sample, target=target)


def unit(number: int = 1, key: str = "k", target: str = "t1") -> Unit:
    return Unit(place(number, target), f"{key}{number}")


def conversation(number: int = 1, said: str = "Hello", **more: Any) -> Row:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": said}]
    return {"id": place(number).id, "metric_id": "m01", "sample": 1, "conversation": talk, **more}


def made(number: int = 1, said: str = "Hello", key: str = "k") -> RowResult:
    """A finished conversation of the first target."""
    return RowResult(unit(number, key), conversation(number, said), spending=SPENT)


def failed(number: int = 1, reason: str = "the provider is away", key: str = "k") -> RowResult:
    return RowResult(unit(number, key), None, reason, spending=SPENT)


class Echo:
    """Conversations of so many scenarios with each target."""

    name = "simulate"

    def __init__(self, count: int = 3, targets: Sequence[str] = ("t1",), key: str = "k") -> None:
        self._count = count
        self._targets = targets
        self._key = key

    def units(self) -> Iterable[Unit]:
        for target in self._targets:
            for number in range(1, self._count + 1):
                yield unit(number, self._key, target)

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        return {"say": f"Hi, I am {unit.place.id}"}

    def calls(self, unit: Unit) -> Mapping[str, int]:
        return {Role.TARGET.value: 1}


class EchoRowMaker:
    """Asks the target's model once."""

    def __init__(self, task: Task) -> None:
        self._config = task.config

    async def make(self, item: Item, llm: LLM) -> Row:
        where = item.unit.place
        settings = self._config.target(where.target).settings
        assert isinstance(settings, ModelTarget)
        said = Message("user", item.payload["say"])
        context = CallContext(Role.TARGET, where.id, where.sample, 1)
        reply = await llm.complete(LLMRequest(settings, (said,), context))
        talk = [{"role": "user", "content": said.content}, {"role": "assistant", "content": reply.text}]
        return {"id": where.id, "metric_id": "m01", "sample": where.sample, "conversation": talk}

    async def aclose(self) -> None:
        pass


def task(
    folder: Path,
    targets: Sequence[str] = ("t1",),
    *,
    url: str | None = None,
    secrets: tuple[str, ...] = (),
    **run: Any,
) -> Task:
    """The task of `Echo` in a folder; each target is a model of its own name."""
    entries = tuple(
        TargetEntry(id=target, settings=ModelTarget(model=f"openai/{target}", api_base=url, api_key="none"))
        for target in targets
    )
    config = BenchmarkConfig(user_model=ModelSettings(), targets=entries, run=RunSettings(**run))
    return Task("simulate", Benchmark(name="Echo"), config, folder, folder, secrets)


def table(folder: Path, target: str = "t1") -> Table:
    """The conversations of a target."""
    return Tables(BenchmarkFolder(folder))("simulate", target)


async def run_echo(
    task: Task,
    llm: LLM | None,
    stage: Echo | None = None,
    options: Options | None = None,
    progress: StageListener | None = None,
    make_rows: MakesRows = EchoRowMaker,
) -> StageReport:
    """One run of the stage on a local engine; without `llm` its models are live ones."""
    engine = LocalEngine(llm=llm, make_rows=make_rows)
    chosen = stage or Echo(targets=[entry.id for entry in task.config.targets])
    try:
        return await run_stage(
            chosen,
            task,
            engine,
            lambda target: table(task.folder, target),
            options or Options(),
            progress or Silent(),
        )
    finally:
        await engine.aclose()


def run(*args: Any, **named: Any) -> StageReport:
    """`run_echo` on a loop of its own."""
    return asyncio.run(run_echo(*args, **named))
