"""A stored run with what came before it: what every report on a whole run is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..result import Outcome, ScenarioResult
from ..results.prints import NO_PRINTS, Prints, changes
from ..results.records import TrialRecord
from ..results.rows import IndexRow
from ..results.run_info import RunInfo
from ..results.store import RunRef, StoredRun, final

WINDOW = 12
"""How many earlier runs a trend looks back."""

_WORST_FIRST = (Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED, Outcome.PASSED)


@dataclass(frozen=True)
class Point:
    """What one scenario, or a whole run, came to in one run: a point of a trend.

    `outcomes` counts trials; `prints` are the scenario's, none for a whole run.
    """

    run: str
    started: float
    outcomes: Mapping[Outcome, int]
    prints: Prints = NO_PRINTS

    @property
    def total(self) -> int:
        """The trials that ran: skipped ones say nothing."""
        return sum(count for outcome, count in self.outcomes.items() if outcome is not Outcome.SKIPPED)

    @property
    def passed(self) -> int:
        return self.outcomes.get(Outcome.PASSED, 0)

    @property
    def share(self) -> float | None:
        """The share of trials that passed; None if none ran."""
        return self.passed / self.total if self.total else None


@dataclass(frozen=True)
class RunReport:
    """A run, its trials, and the runs before it.

    `trials` are the final ones (of a rerun only the last), worst first and otherwise as they began; `earlier` has the
    points of each scenario by its id and `runs` those of whole runs, the oldest first, this run not
    among them. `notes` say what of the run could not be read.
    """

    info: RunInfo
    trials: tuple[TrialRecord, ...]
    notes: tuple[str, ...] = ()
    earlier: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    runs: tuple[Point, ...] = ()

    @cached_property
    def results(self) -> tuple[ScenarioResult, ...]:
        return tuple(trial.result for trial in self.trials)

    @cached_property
    def point(self) -> Point:
        """This run as a point of its trend."""
        return Point(self.info.id, self.info.started, Counter(one.outcome for one in self.results))

    @cached_property
    def points(self) -> Mapping[str, Point]:
        """This run as a point of each scenario's trend, by the scenario's id."""
        of: dict[str, list[TrialRecord]] = {}
        for trial in self.trials:
            of.setdefault(trial.result.scenario_id, []).append(trial)
        return {
            scenario: Point(
                self.info.id,
                self.info.started,
                Counter(trial.result.outcome for trial in trials),
                trials[-1].prints,
            )
            for scenario, trials in of.items()
        }

    def before(self, scenario_id: str) -> Point | None:
        """The scenario's point in the last earlier run that has it."""
        points = self.earlier.get(scenario_id, ())
        return points[-1] if points else None

    def changed(self, scenario_id: str) -> tuple[str, ...]:
        """What is different from the run before, in words: "scenario", "prompts", "target's tools"…"""
        before = self.before(scenario_id)
        return () if before is None else changes(before.prints, self.points[scenario_id].prints)

    def newly(self, scenario_id: str) -> bool | None:
        """True if the scenario passes now and didn't before, False if it was the other way round, else None."""
        before, now = self.before(scenario_id), self.points[scenario_id]
        if before is None or before.share is None or now.share is None:
            return None
        was, is_now = before.share == 1, now.share == 1
        return None if was == is_now else is_now


def read_report(run: StoredRun, runs: Iterable[RunRef] = ()) -> RunReport:
    """The report on a stored run; `runs` are those of its folder, of which the earlier ones make the trend."""
    trials = [run.trial(row) for row in final(run.rows())]
    points = [_points(ref) for ref in _earlier(run, runs)]
    return RunReport(
        info=run.info,
        trials=tuple(in_order(trials)),
        notes=run.notes,
        earlier=_by_scenario(points),
        runs=tuple(_whole(one) for one in points if one),
    )


def in_order(trials: Iterable[TrialRecord]) -> list[TrialRecord]:
    """What needs looking at first, and the trials of a scenario together."""
    results = list(trials)
    worst: dict[str, int] = {}
    for one in results:
        rank = _WORST_FIRST.index(one.result.outcome)
        worst[one.result.scenario_id] = min(rank, worst.get(one.result.scenario_id, rank))
    first = {one.result.scenario_id: number for number, one in reversed(list(enumerate(results)))}
    return sorted(
        results,
        key=lambda one: (
            worst[one.result.scenario_id],
            first[one.result.scenario_id],
            one.result.trial,
        ),
    )


def _earlier(run: StoredRun, runs: Iterable[RunRef]) -> list[RunRef]:
    """The last few runs that began before this one, the oldest first."""
    older = [one for one in runs if (one.info.started, one.id) < (run.info.started, run.id)]
    return sorted(older, key=lambda one: (one.info.started, one.id))[-WINDOW:]


def _points(ref: RunRef) -> dict[str, Point]:
    """The points of each scenario of a run, by its id."""
    of: dict[str, list[IndexRow]] = {}
    for row in final(ref.open().rows()):
        of.setdefault(row.scenario_id, []).append(row)
    return {
        scenario: Point(ref.id, ref.info.started, Counter(row.outcome for row in rows), rows[-1].prints)
        for scenario, rows in of.items()
    }


def _by_scenario(runs: Sequence[Mapping[str, Point]]) -> dict[str, tuple[Point, ...]]:
    found: dict[str, list[Point]] = {}
    for points in runs:
        for scenario, point in points.items():
            found.setdefault(scenario, []).append(point)
    return {scenario: tuple(points) for scenario, points in found.items()}


def _whole(points: Mapping[str, Point]) -> Point:
    """The point of a whole run."""
    one = next(iter(points.values()))
    total: Counter[Outcome] = Counter()
    for point in points.values():
        total.update(point.outcomes)
    return Point(one.run, one.started, total)
