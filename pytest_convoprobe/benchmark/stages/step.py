"""What a run needs to know of one step: how its rows are planned, made, kept and counted.

Each module of this folder that makes rows has a `STEP`, and `registry` finds it by the module's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..format.folder import BenchmarkFolder
from ..format.models import Benchmark, BenchmarkConfig
from ..format.project import LoadedBenchmark
from ..rows.row_types import INTERNAL, RowKind
from ..rows.table import Table
from ..rows.work import Place, Row, RowMaker, Stage, Task
from .options import Options


@dataclass(frozen=True)
class StepContext:
    """What a step is planned from: the benchmark, what was asked for, and the tables by step and target.

    `versions` are what targets report as theirs, by target.
    """

    loaded: LoadedBenchmark
    options: Options
    table: Callable[[str, str], Table]
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def benchmark(self) -> Benchmark:
        return self.loaded.benchmark

    @property
    def config(self) -> BenchmarkConfig:
        return self.loaded.config

    @property
    def targets(self) -> Sequence[str]:
        """The ids of the targets."""
        return [entry.id for entry in self.config.targets]


class Step(ABC):
    """One table of rows. What a step leaves as it is here means: nothing special.

    `source` is the step whose rows these are each made of, where rows of others are valid only for the
    source that they were found with. A step that `feeds_next` makes what the next one makes rows of.
    """

    name: str
    kind: RowKind = INTERNAL
    per_target: bool = False
    source: str = ""
    feeds_next: bool = True

    def file(self, folder: BenchmarkFolder, target: str) -> Path | None:
        """The JSON array for people, if there is one."""
        return None

    @abstractmethod
    def plan(self, context: StepContext) -> Stage:
        """Which rows there are to be."""

    @abstractmethod
    def row_maker(self, task: Task) -> RowMaker:
        """Makes the rows, in any process."""

    # What a forecast asks.

    def usual_calls(self, config: BenchmarkConfig, target: str) -> Mapping[str, int]:
        """By role, the calls for a row of which no more is known yet."""
        return {}

    def rows_for_each(self, context: StepContext) -> int:
        """How many rows there are for each row of the step before, or for each metric at first."""
        return 1

    def announced(self, stage: Stage) -> int | None:
        """How many things its rows bring for the next step; None where each row is one of them."""
        return None

    # What a run asks, in this order.

    def check(self, context: StepContext) -> None:
        """Raises an error where a file of somebody's cannot be used. Asked before anything is made."""
        return

    def require(self, context: StepContext, stages: Sequence[str]) -> None:
        """Raises an error where there is nothing to begin with, and no stage of the run makes it."""
        return

    def finished(
        self, loaded: LoadedBenchmark, rows: Iterable[Row]
    ) -> tuple[LoadedBenchmark, tuple[str, ...]]:
        """Use the rows once all are made: the benchmark as it is now, and notes of what is missing."""
        return loaded, ()

    def remarks(self, context: StepContext, remade: Collection[Place]) -> tuple[str, ...]:
        """What is legal, but probably a mistake. Rows of the places `remade` will be replaced before."""
        return ()
