"""What the past says of scenarios: how they went over time, how steady they are, what a change did.

Pure functions over the rows of runs.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..result import Outcome
from ..stats import Interval, pass_at_k, pass_hat_k, wilson
from .fingerprints import NO_PRINTS, ExplainTools, changes
from .index import IndexRow
from .trial_filter import errors, final, has_verdict, is_undecided, mean, mean_known, really_happened

_BLOCKS = "▁▂▃▄▅▆▇█"
_ABSENT = "·"


@dataclass(frozen=True)
class Point:
    """One run's trials of a scenario.

    `trials` counts those with a verdict; `errors` counts the others by blame, which are not the agent's fault
    and no part of the rate. `rate` is the share that passed, None without a verdict; `score`, `duration`,
    `latency` (both in seconds) and `cost` (US dollars) are means, None where unknown. `changed` says what is
    different from the last point with known fingerprints ("scenario", "prompts", "target's system prompt",
    "target's tools").
    """

    run: str
    started: float
    outcomes: Mapping[str, int]
    trials: int
    passed: int
    rate: float | None
    score: float | None
    duration: float | None
    latency: float | None
    cost: float | None
    changed: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict)
    reruns: int = 0


@dataclass(frozen=True)
class Trend:
    """A scenario over its latest runs, the oldest first; `interval` is Wilson's of `rate`.

    `trials` are those with a verdict; `errors` are the others, by blame.
    """

    scenario_id: str
    name: str
    file: str
    points: tuple[Point, ...]
    trials: int
    passed: int
    rate: float | None
    interval: Interval | None
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def reruns(self) -> int:
        """How many attempts a rerun replaced; the points' costs contain them."""
        return sum(point.reruns for point in self.points)

    @property
    def rates(self) -> tuple[float | None, ...]:
        """The pass rate run by run: the data of a sparkline."""
        return tuple(point.rate for point in self.points)

    @property
    def scores(self) -> tuple[float | None, ...]:
        return tuple(point.score for point in self.points)


@dataclass(frozen=True)
class UnsteadyAnswer:
    """A criterion (by its id) or a check (by its name) that didn't come out the same each time."""

    key: str
    held: int
    failed: int
    untold: int


@dataclass(frozen=True)
class Stability:
    """How stable the outcome of a scenario is. All rows have the same fingerprints.

    `outcomes` counts trials by outcome, those included that don't count in `trials`, which have a verdict.
    `errors` are trials without one, by blame. `interval` is Wilson's of `rate`. `score_low`, `score_high` and
    `score_deviation` (of the sample) describe the spread of the score. `flips` has what flipped, the most
    even first; `series` whether each trial passed (None: no verdict), the oldest first. `within_commit` says
    that one and the same commit saw different outcomes: where it is False, the agent's own code may have made
    the difference. `example` is the newest trial that didn't pass (or simply the newest), for the words of
    its criteria.
    """

    scenario_id: str
    name: str
    file: str
    runs: int
    outcomes: Mapping[str, int]
    trials: int
    passed: int
    rate: float | None
    interval: Interval | None
    score_low: float | None
    score_high: float | None
    score_mean: float | None
    score_deviation: float | None
    flips: tuple[UnsteadyAnswer, ...]
    series: tuple[bool | None, ...]
    within_commit: bool
    example: IndexRow
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_flaky(self) -> bool:
        """Whether outcomes differ: the verdicts, or whether there is one."""
        return len(set(self.series)) > 1

    def pass_at(self, k: int) -> float | None:
        """The chance that at least one of `k` trials passes."""
        return pass_at_k(self.trials, self.passed, k)

    def pass_hat(self, k: int) -> float | None:
        """The chance that all of `k` trials pass (pass^k)."""
        return pass_hat_k(self.trials, self.passed, k)


def trends(rows: Iterable[IndexRow], window: int = 20, explain: ExplainTools | None = None) -> list[Trend]:
    """Each scenario over the last `window` runs that had it, in the order of their ids.

    `explain` has words for what changed in the target's tools.
    """
    by_scenario = _grouped(final(rows))
    return [_trend(found, window, explain) for _, found in sorted(by_scenario.items())]


def flaky(rows: Iterable[IndexRow], min_runs: int = 5) -> list[Stability]:
    """The scenarios with different outcomes on the same fingerprints, the most uneven first.

    Only what a scenario rests on now is looked at: trials from before a change are left out, and so are
    scenarios of fewer than `min_runs` trials with a verdict, or kept from one by the judge, the simulator or
    the scenario. All trials count, those that a rerun replaced too. Conversations of an export are left out:
    each is another one, so its outcome may be another too.
    """
    found = []
    for group in _grouped(rows).values():
        counted = [row for row in group if _says_something(row) and not really_happened(row)]
        if len(counted) < max(2, min_runs) or len({row.outcome for row in counted}) < 2:
            continue
        newest = _rests_on(max(counted, key=_when))
        steadiness = stability(row for row in counted if _rests_on(row) == newest)
        if steadiness.is_flaky and len(steadiness.series) >= min_runs:
            found.append(steadiness)
    return sorted(found, key=lambda one: (abs((one.rate or 0.0) - 0.5), -one.trials, one.scenario_id))


def stability(rows: Iterable[IndexRow]) -> Stability:
    """How steady the trials of one scenario are. Raises ValueError without any."""
    ordered = sorted(rows, key=_when)
    if not ordered:
        raise ValueError("there are no trials to look at")
    relevant = [row for row in ordered if _says_something(row)]
    counted = [row for row in relevant if has_verdict(row)]
    scores = [row.score for row in counted if row.score is not None]
    passed, newest = sum(row.passed for row in counted), ordered[-1]
    return Stability(
        scenario_id=newest.scenario_id,
        name=newest.name,
        file=newest.file,
        runs=len({row.run for row in ordered}),
        outcomes=_outcomes(ordered),
        trials=len(counted),
        passed=passed,
        rate=passed / len(counted) if counted else None,
        interval=wilson(passed, len(counted)),
        score_low=min(scores, default=None),
        score_high=max(scores, default=None),
        score_mean=mean(scores),
        score_deviation=_deviation(scores),
        flips=_flips(relevant),
        series=tuple(row.passed if has_verdict(row) else None for row in relevant),
        within_commit=_within_commit(relevant),
        example=next((row for row in reversed(relevant) if not row.passed), newest),
        errors=errors(ordered),
    )


def sparkline(values: Iterable[float | None], low: float = 0.0, high: float = 1.0) -> str:
    """The values as a line of blocks, one character each; `·` where there is none."""
    steps = len(_BLOCKS) - 1

    def block(value: float | None) -> str:
        if value is None:
            return _ABSENT
        share = (value - low) / (high - low) if high > low else 1.0
        return _BLOCKS[round(min(1.0, max(0.0, share)) * steps)]

    return "".join(map(block, values))


def _grouped(rows: Iterable[IndexRow]) -> dict[str, list[IndexRow]]:
    groups: defaultdict[str, list[IndexRow]] = defaultdict(list)
    for row in rows:
        groups[row.scenario_id].append(row)
    return groups


def _says_something(row: IndexRow) -> bool:
    """Whether the trial says something about its scenario: an outage says nothing."""
    return has_verdict(row) or is_undecided(row)


def _when(row: IndexRow) -> tuple[str, float, int]:
    """The order of time: ids of runs begin with it."""
    return row.run, row.started, row.trial


def _rests_on(row: IndexRow) -> tuple[object, ...]:
    """All that an outcome depends on and that is known: different outcomes on the same are flaky."""
    return row.prints, row.target


def _outcomes(rows: Iterable[IndexRow]) -> dict[str, int]:
    return dict(Counter(row.outcome.value for row in rows))


def _trend(rows: Sequence[IndexRow], window: int, explain: ExplainTools | None) -> Trend:
    by_run: defaultdict[str, list[IndexRow]] = defaultdict(list)
    for row in sorted(rows, key=_when):
        by_run[row.run].append(row)
    runs = list(by_run.values())[-window:] if window > 0 else []
    points = _points(runs, explain)
    trials, passed = sum(point.trials for point in points), sum(point.passed for point in points)
    newest = max(rows, key=_when)
    return Trend(
        scenario_id=newest.scenario_id,
        name=newest.name,
        file=newest.file,
        points=tuple(points),
        trials=trials,
        passed=passed,
        rate=passed / trials if trials else None,
        interval=wilson(passed, trials),
        errors=_added(point.errors for point in points),
    )


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)


def _points(runs: Iterable[Sequence[IndexRow]], explain: ExplainTools | None) -> list[Point]:
    """A run that only skipped the scenario, or broke before it, has no fingerprints, and hides no change."""
    points, before = [], NO_PRINTS
    for rows in runs:
        now = next((row.prints for row in reversed(rows) if row.prints != NO_PRINTS), NO_PRINTS)
        points.append(_point(rows, changes(before, now, explain)))
        before = before if now == NO_PRINTS else now
    return points


def _point(rows: Sequence[IndexRow], changed: tuple[str, ...]) -> Point:
    counted = [row for row in rows if has_verdict(row)]
    passed = sum(row.passed for row in counted)
    ran = [row for row in rows if row.outcome is not Outcome.SKIPPED]
    return Point(
        run=rows[0].run,
        started=rows[0].started,
        outcomes=_outcomes(rows),
        trials=len(counted),
        passed=passed,
        rate=passed / len(counted) if counted else None,
        score=mean_known(row.score for row in counted),
        duration=mean(row.duration for row in ran),
        latency=mean_known(row.latency for row in ran),
        cost=mean(row.cost for row in ran),
        changed=changed,
        errors=errors(rows),
        reruns=sum(len(row.earlier) for row in rows),
    )


def _deviation(values: Sequence[float]) -> float | None:
    """The sample's standard deviation. The standard library's is exact, and takes fifty times as long."""
    if len(values) < 2:
        return None
    middle = sum(values) / len(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1))


def _flips(rows: Sequence[IndexRow]) -> tuple[UnsteadyAnswer, ...]:
    counts: defaultdict[str, Counter[bool | None]] = defaultdict(Counter)
    for row in rows:
        for key, holds in row.holds.items():
            counts[key][holds] += 1
    flips = [
        UnsteadyAnswer(key, one[True], one[False], one[None]) for key, one in counts.items() if len(one) > 1
    ]
    return tuple(sorted(flips, key=lambda flip: (abs(flip.held - flip.failed - flip.untold), flip.key)))


def _within_commit(rows: Sequence[IndexRow]) -> bool:
    seen: defaultdict[str, set[Outcome]] = defaultdict(set)
    for row in rows:
        # Without git, only one run is certain to have met one and the same code.
        seen[row.commit or row.run].add(row.outcome)
    return any(len(outcomes) > 1 for outcomes in seen.values())
