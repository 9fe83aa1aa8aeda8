"""A stage that the package doesn't know: how many turns each conversation has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.rows.row_keys import digest
from pytest_convoprobe.benchmark.rows.row_types import RowKind
from pytest_convoprobe.benchmark.rows.work import Item, Place, Row, Task, Unit
from pytest_convoprobe.benchmark.stages.step import Step, StepContext
from pytest_convoprobe.llm.port import LLM


class CountTurns:
    name = "count-turns"

    def __init__(self, context: StepContext) -> None:
        self._context = context

    def units(self) -> Iterator[Unit]:
        for target in self._context.targets:
            for place, head in self._context.table("simulate", target).heads().items():
                yield Unit(place, digest(head.digest))

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        return self._context.table("simulate", unit.place.target).row(unit.place)

    def calls(self, unit: Unit) -> Mapping[str, int]:
        return {}


class CountTurnsRowMaker:
    async def make(self, item: Item, llm: LLM) -> Row:
        said = item.payload["transcript"]
        turns = sum(message["role"] == "user" for message in said)
        return {"id": item.unit.place.id, "sample": item.unit.place.sample, "turns": turns}

    async def aclose(self) -> None:
        pass


class CountTurnsStep(Step):
    name = "count-turns"
    kind = RowKind(lambda row, target: (Place(row["id"], row["sample"], target=target),), digest)
    per_target = True

    def file(self, folder: BenchmarkFolder, target: str) -> Path:
        return folder.run(target) / "turns.json"

    def plan(self, context: StepContext) -> CountTurns:
        return CountTurns(context)

    def row_maker(self, task: Task) -> CountTurnsRowMaker:
        return CountTurnsRowMaker()


STEP = CountTurnsStep()
