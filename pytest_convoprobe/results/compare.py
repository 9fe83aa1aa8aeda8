"""Two runs side by side, scenario by scenario: what got worse, what got better, and whether that is luck."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from ..result import Outcome
from ..stats import Interval, mcnemar_exact, mean_difference
from .fingerprints import changes
from .index import IndexRow
from .trial_filter import counts_as_trial, final, mean, mean_known

FailOn = Literal["regression", "new-failure", "none"]

_SAME_SCORE = 1e-9


class Change(str, Enum):
    """What became of a scenario from base to head, the most serious first."""

    NEW_FAILURE = "new failure"  # every trial passed, and now one at least doesn't
    NO_VERDICT = "no verdict"  # base has a verdict, head has none or broke off before it: nobody knows
    WORSE = "worse"  # it didn't pass every time before, and now passes less often or scores less
    FIXED = "fixed"  # not every trial passed, and now every one does
    BETTER = "better"
    ADDED = "added"
    REMOVED = "removed"
    SAME = "same"


@dataclass(frozen=True)
class ScenarioInRun:
    """A scenario in one of the runs.

    `rate` is the share of trials that passed; None if no trial counts. Trials count as `counting` says.
    `score`, `cost` (US dollars a trial) and `latency` (seconds a reply of the target; of live trials
    only) are means, None where unknown. `example` is a trial that didn't pass, or else the last one.
    """

    trials: int
    passed: int
    rate: float | None
    score: float | None
    cost: float | None
    latency: float | None
    example: IndexRow


@dataclass(frozen=True)
class ScenarioChange:
    """One scenario's two sides; one of them is None where it was added or removed.

    `changed` names the inputs that are different; `flipped` has the ids of criteria and the
    names of checks that held in every trial of base and don't in one of head.
    """

    scenario_id: str
    name: str
    kind: Change
    base: ScenarioInRun | None
    head: ScenarioInRun | None
    changed: tuple[str, ...] = ()
    flipped: tuple[str, ...] = ()

    @property
    def rate_change(self) -> float | None:
        return self._difference("rate")

    def _difference(self, name: str) -> float | None:
        base, head = (getattr(side, name, None) for side in (self.base, self.head))
        return None if base is None or head is None else head - base


@dataclass(frozen=True)
class Comparison:
    """Base and head compared; `changes` come the most serious first.

    Trials are paired by scenario and number. `only_base` pairs passed in base alone, `only_head` in head
    alone; `p_value` is McNemar's exact one. `difference` is the mean over scenarios of the change of
    the pass rate, `interval` its 95 % confidence interval with each scenario as one cluster (None where
    the data do not allow one: fewer than two scenarios, or all of them changed alike).
    """

    changes: tuple[ScenarioChange, ...]
    pairs: int
    only_base: int
    only_head: int
    p_value: float
    difference: float | None
    interval: Interval | None
    base_cost: float | None
    head_cost: float | None
    base_latency: float | None
    head_latency: float | None

    def of(self, *kinds: Change) -> tuple[ScenarioChange, ...]:
        """The scenarios of these kinds."""
        return tuple(change for change in self.changes if change.kind in kinds)

    def fails(self, fail_on: FailOn) -> bool:
        """Whether a gate closes.

        `new-failure`: on new failures, and where a verdict was lost, for nobody knows whether
        that is one. `regression`: on what got worse too. `none`: never.
        """
        if fail_on == "none":
            return False
        worse = (Change.WORSE,) if fail_on == "regression" else ()
        return bool(self.of(Change.NEW_FAILURE, Change.NO_VERDICT, *worse))


def compare(
    base_rows: Iterable[IndexRow], head_rows: Iterable[IndexRow], *, head_ended: bool = True
) -> Comparison:
    """Compare two sets of trials. Of a trial that was run again in its run, the last counts.

    Where head didn't come to its end (`head_ended`), what it lacks wasn't removed: it has no verdict.
    """
    base, head = _by_scenario(base_rows), _by_scenario(head_rows)
    found = [_change(base.get(key, []), head.get(key, []), head_ended) for key in {**base, **head}]
    pairs = [pair for key in base.keys() & head.keys() for pair in _pairs(base[key], head[key])]
    differences = [change.rate_change for change in found if change.rate_change is not None]
    only_base = sum(before and not after for before, after in pairs)
    only_head = sum(after and not before for before, after in pairs)
    return Comparison(
        changes=tuple(sorted(found, key=_seriousness)),
        pairs=len(pairs),
        only_base=only_base,
        only_head=only_head,
        p_value=mcnemar_exact(only_base, only_head),
        difference=mean(differences),
        interval=mean_difference(differences),
        base_cost=_total_cost(base),
        head_cost=_total_cost(head),
        base_latency=_latency(row for rows in base.values() for row in rows),
        head_latency=_latency(row for rows in head.values() for row in rows),
    )


_ORDER = {kind: place for place, kind in enumerate(Change)}


def _seriousness(change: ScenarioChange) -> tuple[int, str]:
    return _ORDER[change.kind], change.scenario_id


def _by_scenario(rows: Iterable[IndexRow]) -> dict[str, list[IndexRow]]:
    """Without what was skipped: a scenario that didn't run isn't there to be compared."""
    groups: defaultdict[str, list[IndexRow]] = defaultdict(list)
    for row in sorted(final(rows), key=lambda row: (row.run, row.trial)):
        if row.outcome is not Outcome.SKIPPED:
            groups[row.scenario_id].append(row)
    return dict(groups)


def _change(base: Sequence[IndexRow], head: Sequence[IndexRow], head_ended: bool) -> ScenarioChange:
    before, after = _side(base), _side(head)
    kind = _kind(before, after)
    if not head_ended and kind in (Change.REMOVED, Change.SAME) and _lacks_trials(before, after):
        kind = Change.NO_VERDICT
    newest = (head or base)[-1]
    return ScenarioChange(
        scenario_id=newest.scenario_id,
        name=newest.name,
        kind=kind,
        base=before,
        head=after,
        changed=changes(base[-1].prints, head[-1].prints) if base and head else (),
        flipped=_flipped(base, head),
    )


def _side(rows: Sequence[IndexRow]) -> ScenarioInRun | None:
    if not rows:
        return None
    counted = [row for row in rows if counts_as_trial(row)]
    passed = sum(row.passed for row in counted)
    return ScenarioInRun(
        trials=len(counted),
        passed=passed,
        rate=passed / len(counted) if counted else None,
        score=mean_known(row.score for row in counted),
        cost=mean(row.cost for row in rows),
        latency=_latency(rows),
        example=next((row for row in rows if not row.passed), rows[-1]),
    )


def _kind(base: ScenarioInRun | None, head: ScenarioInRun | None) -> Change:
    if base is None or head is None:
        return Change.ADDED if base is None else Change.REMOVED
    if base.rate is None or head.rate is None:
        return Change.SAME if base.rate is None else Change.NO_VERDICT
    if base.rate == 1.0 or head.rate == 1.0:
        return Change.SAME if base.rate == head.rate else _TURNED[head.rate == 1.0]
    gained = (head.rate - base.rate) or _gained(base.score, head.score)
    if abs(gained) <= _SAME_SCORE:
        return Change.SAME
    return Change.BETTER if gained > 0 else Change.WORSE


def _gained(before: float | None, after: float | None) -> float:
    """A score that is unknown on one side counts as unchanged."""
    return 0.0 if before is None or after is None else after - before


def _lacks_trials(base: ScenarioInRun | None, head: ScenarioInRun | None) -> bool:
    return base is not None and (head.trials if head else 0) < base.trials


_TURNED = {True: Change.FIXED, False: Change.NEW_FAILURE}


def _flipped(base: Sequence[IndexRow], head: Sequence[IndexRow]) -> tuple[str, ...]:
    held = _always(base)
    lost = (key for row in head for key, holds in row.holds.items() if holds is not True and key in held)
    return tuple(dict.fromkeys(lost))


def _always(rows: Sequence[IndexRow]) -> set[str]:
    """What held in each trial that has it."""
    keys: Mapping[str, bool | None] = {key: None for row in rows for key in row.holds}
    return {key for key in keys if all(row.holds.get(key, True) is True for row in rows)}


def _pairs(base: Sequence[IndexRow], head: Sequence[IndexRow]) -> list[tuple[bool, bool]]:
    """The outcomes of the first trial in each, of the second in each, and so on."""
    before = {row.trial: row.passed for row in base if counts_as_trial(row)}
    after = {row.trial: row.passed for row in head if counts_as_trial(row)}
    return [(before[trial], after[trial]) for trial in sorted(before.keys() & after.keys())]


def _latency(rows: Iterable[IndexRow]) -> float | None:
    """Recorded replies take no time that means anything."""
    return mean_known(row.latency for row in rows if not row.replayed)


def _total_cost(groups: Mapping[str, Sequence[IndexRow]]) -> float | None:
    costs = [row.cost for rows in groups.values() for row in rows]
    return sum(cost for cost in costs if cost is not None) if None not in costs else None
