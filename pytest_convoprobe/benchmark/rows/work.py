"""What stages, engines and the driver exchange: units of work, tasks, results of rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...llm.agent_replay import AgentModelCalls
from ...llm.ledger import Spending
from ...llm.port import LLM
from ...pseudonyms import Masking
from ..format.models import Benchmark, BenchmarkConfig
from ..format.project import LoadedBenchmark

_OF_CONVERSATIONS = ("simulate", "evaluate")

Row = dict[str, Any]
"""A row as JSON."""


@dataclass(frozen=True)
class Place:
    """Which row this is: its scenario's id, the metric where a stage scores several, and the sample.

    `target` is empty in stages that have none. `text` is what logs and recordings call it.
    """

    id: str
    sample: int = 1
    metric_id: str = ""
    target: str = ""

    @property
    def text(self) -> str:
        """`m01_s001_v01#2`, with `@m02` if it is scored for a metric that isn't the scenario's own."""
        metric = f"@{self.metric_id}" if self.metric_id else ""
        return f"{self.id}{metric}#{self.sample}"


@dataclass(frozen=True)
class Unit:
    """One row that there is to be. `key`: digest of all that it is made of.

    `of`: digest of the input row only. Set where a row that we did not write (it has no key) is valid for
    exactly that input.
    """

    place: Place
    key: str
    of: str | None = None


@dataclass(frozen=True)
class Item:
    """A unit with what it is made of, on its way to an engine; `payload` is plain data, to be pickled.

    `agent` are the model calls that the target makes itself, with their recording. The process that makes the
    row sets it.
    """

    unit: Unit
    payload: Mapping[str, Any]
    agent: AgentModelCalls | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class RowResult:
    """What became of an item: a row, or the reason why there is none; `spending` by role, in either case.

    `over_budget` says that it wasn't made because the run may not spend more, `rejected` that the reason
    is one that other rows of the same target will meet too: a wrong key, settings that cannot be used.
    `remedies` are settings that may put it right, as an error has them. `ticket` is the one of its calls in
    the log, see `call_log`.
    """

    unit: Unit
    row: Row | None
    failure: str = ""
    spending: Mapping[str, Spending] = field(default_factory=dict)
    over_budget: bool = False
    rejected: bool = False
    remedies: tuple[str, ...] = ()
    ticket: str = ""


@dataclass(frozen=True)
class Task:
    """All that a process needs to know to do the items of a stage; it can be pickled.

    `stage` is the name of a step, see `stages.registry`. Relative files of targets start from `root`.
    `secrets` are for the redactor, and `masking` says which personal data is masked.
    """

    stage: str
    benchmark: Benchmark
    config: BenchmarkConfig
    folder: Path
    root: Path
    secrets: tuple[str, ...] = field(default=(), repr=False)
    masking: Masking = field(default_factory=Masking)

    @classmethod
    def of(cls, loaded: LoadedBenchmark, step: str) -> Task:
        """The task of a step of a benchmark, for one process."""
        return cls(
            step,
            loaded.benchmark,
            loaded.config,
            loaded.folder.path,
            loaded.root,
            loaded.secrets,
            masking=loaded.masking,
        )

    @property
    def conversation_masking(self) -> Masking:
        """What is masked in this stage: conversations and what is said of them, not what people edit."""
        return self.masking if self.stage in _OF_CONVERSATIONS else Masking()


class RowMaker(Protocol):
    """Makes the rows of one stage in one process, many at a time on one event loop.

    `make` raises a `ConvoprobeError` where no row can be made.
    """

    async def make(self, item: Item, llm: LLM) -> Row: ...

    async def aclose(self) -> None: ...


class Stage(Protocol):
    """A stage of one run: which rows there are to be, and what each is made of.

    `units` is cheap and may be asked for several times; `payload` is asked for when the unit is next.
    `calls` is how many calls of a model a unit takes at most, by role, repairs not counted.
    """

    @property
    def name(self) -> str: ...

    def units(self) -> Iterable[Unit]: ...

    def payload(self, unit: Unit) -> Mapping[str, Any]: ...

    def calls(self, unit: Unit) -> Mapping[str, int]: ...


class Engine(Protocol):
    """Does items, in any order, many at a time, and gives each outcome as it comes.

    It asks for the next item only when there is room for it. What a defect or a lost machine leaves
    undone is an outcome with a failure, or is done again; none is lost. Leaving the iteration early stops
    the work.
    """

    def run(self, task: Task, items: Iterable[Item]) -> AsyncIterator[RowResult]: ...

    async def aclose(self) -> None: ...
