"""Makes the missing rows of a stage: plans them, hands them to an engine, writes each down as it comes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeVar

from ...errors import ConvoprobeError
from ...llm.ledger import Spending
from ..rows.spending import Sum, as_numbers
from ..rows.table import Table
from ..rows.work import Engine, Item, Place, RowResult, Stage, Task, Unit
from ..stages.options import Options

T = TypeVar("T")

# One or two may be bad rows. Five, and never a success, are a wrong key or an address.
MOST_REJECTED = 5
"""So many rejections of a target before it ever succeeds are enough to leave the rest of it out."""


@dataclass(frozen=True)
class Counts:
    """Of a target's rows, how many are done and how many are to be made now."""

    done: int
    missing: int


class StageListener(Protocol):
    """Follows a stage in progress. It is called on the event loop, so it must be quick."""

    def started(self, stage: str, counts: Mapping[str, Counts]) -> None:
        """A stage begins; `counts` is by target, of which there is one without a name in some stages."""

    def advanced(self, stage: str, target: str, outcome: RowResult) -> None:
        """A unit has come to an end."""

    def ended(self, report: StageReport) -> None:
        """The stage is over."""


class Silent:
    """Reports nothing."""

    def started(self, stage: str, counts: Mapping[str, Counts]) -> None:
        pass

    def advanced(self, stage: str, target: str, outcome: RowResult) -> None:
        pass

    def ended(self, report: StageReport) -> None:
        pass


@dataclass(frozen=True)
class TargetReport:
    """What a stage did for one target: rows that were done before and rows `made` now.

    `failed` has the rows that came to nothing, each with its reason; `unreadable` counts the rows made now
    for which a model gave no readable answer; `left` counts those that were not tried, because of a limit,
    the budget, or `given_up`, the rejection for which the rest of this target was left out.
    """

    before: int = 0
    made: int = 0
    failed: tuple[tuple[Place, str], ...] = ()
    unreadable: int = 0
    left: int = 0
    given_up: str = ""


@dataclass(frozen=True)
class StageReport:
    """A stage of one run, by target. `budget` is why the run may not spend more, if that ended the stage.

    `notes` are lines for people of what a generator could not make, `remarks` of what is as it was asked for,
    but may not be meant so. `remedies` are settings that may put failures or an end of the budget right.
    """

    stage: str
    targets: Mapping[str, TargetReport]
    spending: Mapping[str, Spending] = field(default_factory=dict)
    seconds: float = 0.0
    budget: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()

    @property
    def made(self) -> int:
        return sum(one.made for one in self.targets.values())

    @property
    def left(self) -> int:
        return sum(one.left for one in self.targets.values())

    @property
    def failed(self) -> tuple[tuple[Place, str], ...]:
        return tuple(pair for one in self.targets.values() for pair in one.failed)


@dataclass
class TargetPlan:
    """One target's part of a stage: its table, all its units, and those that are to be made now."""

    table: Table
    units: list[Unit] = field(default_factory=list)
    missing: list[Unit] = field(default_factory=list)
    done: int = 0

    @property
    def counts(self) -> Counts:
        return Counts(self.done, len(self.missing))


def plan(stage: Stage, table_of: Callable[[str], Table], options: Options) -> dict[str, TargetPlan]:
    """What there is to do, by target. Nothing is made or written."""
    plans: dict[str, TargetPlan] = {}
    for unit in stage.units():
        target = unit.place.target
        if target not in plans:
            plans[target] = TargetPlan(table_of(target))
        one = plans[target]
        one.units.append(unit)
        done = one.table.done(unit)
        one.done += done
        again = options.force and not one.table.by_hand(unit.place)
        if (again or not done) and options.choose(unit.place):
            one.missing.append(unit)
    return plans


async def run_stage(
    stage: Stage,
    task: Task,
    engine: Engine,
    table_of: Callable[[str], Table],
    options: Options,
    progress: StageListener,
) -> StageReport:
    """Make the rows of a stage that are missing, and write the files for people.

    A row that fails stops no other. When this is cancelled, what was finished is on the disk, and the files
    for people are as they were. Raises `ResultsError` where a table cannot be read or written.
    """
    started = time.perf_counter()
    plans = plan(stage, table_of, options)
    progress.started(stage.name, {target: one.counts for target, one in plans.items()})
    work = _StageWork(stage, plans, options.limit, progress)
    if any(one.missing for one in plans.values()) and options.limit != 0:
        await _make(engine, task, work)
    for one in plans.values():
        # What nobody asked for stays as it is; what a limit or the budget left is missing.
        one.table.export(one.units, spared=lambda place: not options.choose(place))
        one.table.close()
    report = work.report(time.perf_counter() - started)
    progress.ended(report)
    return report


async def _make(engine: Engine, task: Task, work: _StageWork) -> None:
    outcomes = engine.run(task, work.items())
    try:
        async for outcome in outcomes:
            work.take(outcome)
    finally:
        close: Any = getattr(outcomes, "aclose", None)
        if close is not None:
            await close()


@dataclass
class _StageTally:
    """What has become of a target's units so far."""

    made: int = 0
    unreadable: int = 0
    rejected: int = 0
    failed: list[tuple[Place, str]] = field(default_factory=list)
    given_up: str = ""


class _StageWork:
    """Hands out the units of a stage, the targets taking turns, and takes their outcomes in."""

    def __init__(
        self, stage: Stage, plans: Mapping[str, TargetPlan], limit: int | None, progress: StageListener
    ) -> None:
        self._stage = stage
        self._plans = plans
        self._limit = limit
        self._progress = progress
        self._tallies = {target: _StageTally() for target in plans}
        self._spent = Sum()
        self._budget = ""
        self._remedies: dict[str, None] = {}

    def items(self) -> Iterator[Item]:
        """Asked for one by one as there is room for them, so that no more of them are in memory."""
        # In turns: with a limit or a budget, all targets get as far, and can still be compared.
        for unit in islice(_in_turns([one.missing for one in self._plans.values()]), self._limit):
            if self._budget:
                return
            if self._tallies[unit.place.target].given_up:
                continue
            try:
                payload = self._stage.payload(unit)
            except ConvoprobeError as error:
                self.take(RowResult(unit, None, str(error)))
                continue
            yield Item(unit, payload)

    def take(self, outcome: RowResult) -> None:
        """Write an outcome down and count it."""
        place = outcome.unit.place
        numbers = as_numbers(outcome.spending)
        self._spent.add(numbers)
        self._remedies.update(dict.fromkeys(outcome.remedies))
        # A row that wasn't begun leaves no line; one that was begun has cost something.
        if not outcome.over_budget or numbers:
            self._plans[place.target].table.put(outcome)
        if outcome.over_budget:
            self._budget = self._budget or outcome.failure
        else:
            _count(self._tallies[place.target], outcome)
        self._progress.advanced(self._stage.name, place.target, outcome)

    def report(self, seconds: float) -> StageReport:
        targets = {target: self._of_target(target) for target in self._plans}
        return StageReport(
            self._stage.name,
            targets,
            self._spent.by_role(),
            seconds,
            self._budget,
            remedies=tuple(self._remedies),
        )

    def _of_target(self, target: str) -> TargetReport:
        one, tally = self._plans[target], self._tallies[target]
        left = len(one.missing) - tally.made - len(tally.failed)
        failed = tuple(tally.failed)
        return TargetReport(one.done, tally.made, failed, tally.unreadable, left, tally.given_up)


def _count(tally: _StageTally, outcome: RowResult) -> None:
    if outcome.row is not None:
        tally.made += 1
        tally.unreadable += outcome.row.get("present", True) is None
        return
    tally.failed.append((outcome.unit.place, outcome.failure))
    tally.rejected += outcome.rejected
    if tally.rejected >= MOST_REJECTED and not tally.made and not tally.given_up:
        tally.given_up = outcome.failure


def _in_turns(queues: Iterable[Iterable[T]]) -> Iterator[T]:
    """The first of each, then the second of each, and so on."""
    waiting = [iter(queue) for queue in queues]
    while waiting:
        for queue in list(waiting):
            try:
                yield next(queue)
            except StopIteration:
                waiting.remove(queue)


def reasons(failed: Iterable[tuple[Place, str]]) -> list[tuple[str, int]]:
    """Each reason once, with how many rows failed for it, the most frequent first."""
    return Counter(reason for _, reason in failed).most_common()
