"""Two runs side by side, scenario by scenario: what got worse, what got better, and whether that is luck."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Literal

from ..result import Outcome
from ..stats import Interval, mcnemar_exact, mean_difference
from .fingerprints import ExplainTools, changes, from_to
from .index import IndexRow
from .run_changes import run_changes
from .tool_schemas import ToolSchemas
from .trial_filter import final, has_verdict, is_undecided, mean, mean_known, really_happened

if TYPE_CHECKING:
    from .reading import StoredRun
    from .run_info import RunInfo

FailOn = Literal["regression", "new-failure", "none"]

_SAME_SCORE = 1e-9


class Change(str, Enum):
    """What became of a scenario from base to head, the most serious first."""

    NEW_FAILURE = "new failure"  # every trial passed, and now one at least doesn't
    FAILS_UNKNOWN = "fails, and the baseline has no verdict on it"  # so nobody knows whether that is new
    NO_VERDICT = "no verdict"  # head has none, or too few: it broke off, erred, or couldn't decide
    MISSING = "missing"  # one of the stored runs lacks trials that it should have, perhaps these
    WORSE = "worse"  # it didn't pass every time before, and now passes less often or scores less
    FIXED = "fixed"  # not every trial passed, and now every one does
    BETTER = "better"
    FIRST_VERDICT = "first verdict"  # it passes, and base did not run it or has no verdict on it
    ADDED = "added"
    REMOVED = "removed"
    NOT_RUN = "not run"  # head skipped it, or selected only others
    SAME = "same"


CLOSING = (Change.NEW_FAILURE, Change.FAILS_UNKNOWN, Change.NO_VERDICT, Change.MISSING)
"""What closes a gate of either kind."""


@dataclass(frozen=True)
class RunFacts:
    """What decides how to read the absence of a scenario from a run.

    `ended`: all that was selected had its turn. `partial`: only a part of the scenarios was selected; None
    where that isn't known. `missing` counts trials that the run should have and that can't be read,
    `unstored` those that only the process that ran them knows.
    """

    ended: bool = True
    partial: bool | None = None
    missing: int = 0
    unstored: int = 0


@dataclass(frozen=True)
class ScenarioInRun:
    """A scenario in one of the runs.

    `trials` are those with a verdict, `undecided` those that the judge, the simulator or the scenario kept
    from one. `rate` is the share of `trials` that passed; None without any.
    `score`, `cost` (US dollars a trial) and `latency` (seconds a reply of the target; of live trials
    only) are means, None where unknown. `example` is a trial that didn't pass, or else the last one.
    `skipped`: no trial had a conversation, because it was to be skipped.
    """

    trials: int
    passed: int
    rate: float | None
    score: float | None
    cost: float | None
    latency: float | None
    example: IndexRow
    undecided: int = 0
    skipped: bool = False


@dataclass(frozen=True)
class ScenarioChange:
    """One scenario's two sides; one of them is None where a run doesn't have it.

    `changed` names the inputs that are different, where they can be named with both sides ("judge's model
    a → b"); `flipped` has the ids of criteria and the names of checks that held in every trial of base and
    don't in one of head.
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
        base = self.base.rate if self.base else None
        head = self.head.rate if self.head else None
        return None if base is None or head is None else head - base

    @property
    def ran(self) -> bool:
        """Whether head ran it."""
        return self.head is not None and not self.head.skipped

    @property
    def known_before(self) -> bool:
        """Whether base has a verdict on it."""
        return self.base is not None and self.base.rate is not None


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
    base: RunFacts = RunFacts()
    head: RunFacts = RunFacts()
    changed: Mapping[str, int] = field(default_factory=dict)

    @property
    def known(self) -> tuple[int, int]:
        """On how many of the scenarios that head ran base has a verdict, and how many head ran."""
        ran = [change for change in self.changes if change.ran]
        return sum(change.known_before for change in ran), len(ran)

    def of(self, *kinds: Change) -> tuple[ScenarioChange, ...]:
        """The scenarios of these kinds."""
        return tuple(change for change in self.changes if change.kind in kinds)

    def fails(self, fail_on: FailOn) -> bool:
        """Whether a gate closes.

        `new-failure`: on new failures, and wherever nobody knows whether there is one: a verdict was lost,
        there was none before on what fails now, trials are missing, or head did not come to its end.
        `regression`: on what got worse too. `none`: never.
        """
        if fail_on == "none":
            return False
        worse = (Change.WORSE,) if fail_on == "regression" else ()
        incomplete = self.base.missing or self.head.missing or self.head.unstored or not self.head.ended
        return bool(self.of(*CLOSING, *worse) or incomplete)


def facts(info: RunInfo) -> RunFacts:
    """The facts that a run's description says."""
    return RunFacts(info.came_to_its_end, info.selection.partial if info.selection else None)


def compare_runs(base: StoredRun, head: StoredRun, *, ended: bool | None = None) -> Comparison:
    """Compare two stored runs. Whoever makes head knows whether it `ended` before its description says so."""
    found = compare(
        base.rows(),
        head.rows(),
        base=replace(facts(base.info), missing=base.missing),
        head=replace(
            facts(head.info),
            ended=head.info.came_to_its_end if ended is None else ended,
            missing=head.missing,
            unstored=head.unstored,
        ),
        explain=ToolSchemas((base.path, head.path)).explain,
    )
    settings = dict.fromkeys(run_changes(base.info, head.info), 0)
    return replace(found, changed={**settings, **found.changed})


def compare(
    base_rows: Iterable[IndexRow],
    head_rows: Iterable[IndexRow],
    *,
    base: RunFacts = RunFacts(),
    head: RunFacts = RunFacts(),
    explain: ExplainTools | None = None,
) -> Comparison:
    """Compare two sets of trials. Of a trial that was run again in its run, the last counts.

    Where a run is not whole, what it lacks wasn't added or removed: the facts say what to call it. `explain`
    has words for what changed in the target's tools.
    """
    before, after = _by_scenario(base_rows), _by_scenario(head_rows)
    keys = [key for key in {**before, **after} if key in before or not _is_skipped(after[key])]
    found = [_change(before.get(key, []), after.get(key, []), base, head, explain) for key in keys]
    pairs = [pair for key in before.keys() & after.keys() for pair in _pairs(before[key], after[key])]
    differences = [change.rate_change for change in found if change.rate_change is not None]
    only_base = sum(was and not now for was, now in pairs)
    only_head = sum(now and not was for was, now in pairs)
    return Comparison(
        changes=tuple(sorted(found, key=_seriousness)),
        pairs=len(pairs),
        only_base=only_base,
        only_head=only_head,
        p_value=mcnemar_exact(only_base, only_head),
        difference=mean(differences),
        interval=mean_difference(differences),
        base_cost=_total_cost(before),
        head_cost=_total_cost(after),
        base_latency=_latency(row for rows in before.values() for row in rows),
        head_latency=_latency(row for rows in after.values() for row in rows),
        base=base,
        head=head,
        changed=Counter(what for change in found for what in change.changed),
    )


_ORDER = {kind: place for place, kind in enumerate(Change)}


def _seriousness(change: ScenarioChange) -> tuple[int, str]:
    return _ORDER[change.kind], change.scenario_id


def _by_scenario(rows: Iterable[IndexRow]) -> dict[str, list[IndexRow]]:
    groups: defaultdict[str, list[IndexRow]] = defaultdict(list)
    for row in sorted(final(rows), key=lambda row: (row.run, row.trial)):
        groups[row.scenario_id].append(row)
    return dict(groups)


def _change(
    base: list[IndexRow],
    head: list[IndexRow],
    of_base: RunFacts,
    of_head: RunFacts,
    explain: ExplainTools | None,
) -> ScenarioChange:
    before, after = _side(base), _side(head)
    newest = (head or base)[-1]
    return ScenarioChange(
        scenario_id=newest.scenario_id,
        name=newest.name,
        kind=_kind(before, after, of_base, of_head),
        base=before,
        head=after,
        changed=_changed(base[-1], head[-1], explain) if base and head else (),
        flipped=_flipped(base, head),
    )


def _changed(base: IndexRow, head: IndexRow, explain: ExplainTools | None) -> tuple[str, ...]:
    """What the newest trials of both sides rest on. A trial without a conversation doesn't say it."""
    # Where conversations really happened, it is the name of one of them.
    other = base.target and head.target and base.target != head.target and not really_happened(head)
    target = (from_to("target", base.target, head.target),) if other else ()
    return (*changes(base.prints, head.prints, explain), *target)


def _side(rows: Sequence[IndexRow]) -> ScenarioInRun | None:
    if not rows:
        return None
    judged = [row for row in rows if has_verdict(row)]
    passed = sum(row.passed for row in judged)
    return ScenarioInRun(
        trials=len(judged),
        passed=passed,
        rate=passed / len(judged) if judged else None,
        score=mean_known(row.score for row in judged),
        cost=mean(row.cost for row in rows),
        latency=_latency(rows),
        example=next((row for row in rows if not row.passed), rows[-1]),
        undecided=sum(is_undecided(row) for row in rows),
        skipped=_is_skipped(rows),
    )


def _is_skipped(rows: Sequence[IndexRow]) -> bool:
    """Whether nobody wanted it to run. What was talked over and then skipped, undecided, isn't that."""
    return all(row.outcome is Outcome.SKIPPED and not row.turns for row in rows)


def _kind(
    base: ScenarioInRun | None, head: ScenarioInRun | None, of_base: RunFacts, of_head: RunFacts
) -> Change:
    if head is None or head.skipped:
        return _absent(base, head, of_head)
    if head.rate is None or (head.undecided and head.rate == 1.0):
        return Change.NO_VERDICT
    if base is None or base.rate is None:
        return _first(base, head, of_base)
    found = _moved(base.rate, head.rate, _gained(base.score, head.score))
    # A run that broke off may have lost just the trials that would have failed.
    lost = not of_head.ended and head.trials < base.trials
    return Change.NO_VERDICT if lost and found is Change.SAME else found


def _absent(base: ScenarioInRun | None, head: ScenarioInRun | None, of_head: RunFacts) -> Change:
    """It has no trial in head. Only in a whole run does that mean that it is gone."""
    if head is not None:
        return Change.NOT_RUN
    if not of_head.ended:
        return Change.NO_VERDICT if base is not None and not base.skipped else Change.NOT_RUN
    if of_head.missing:
        return Change.MISSING
    return Change.NOT_RUN if of_head.partial else Change.REMOVED


def _first(base: ScenarioInRun | None, head: ScenarioInRun, of_base: RunFacts) -> Change:
    """Head has a verdict and base has none."""
    if head.rate != 1.0:
        return Change.FAILS_UNKNOWN
    if base is None and of_base.missing:
        return Change.MISSING
    whole = of_base.ended and not of_base.partial
    return Change.ADDED if base is None and whole else Change.FIRST_VERDICT


def _moved(before: float, after: float, score: float) -> Change:
    if before == 1.0 or after == 1.0:
        return Change.SAME if before == after else _TURNED[after == 1.0]
    # Of the same rate, the score says which is better: more criteria hold in the trials that fail.
    gained = (after - before) or score
    if abs(gained) <= _SAME_SCORE:
        return Change.SAME
    return Change.BETTER if gained > 0 else Change.WORSE


def _gained(before: float | None, after: float | None) -> float:
    """A score that is unknown on one side counts as unchanged."""
    return 0.0 if before is None or after is None else after - before


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
    before = {row.trial: row.passed for row in base if has_verdict(row)}
    after = {row.trial: row.passed for row in head if has_verdict(row)}
    return [(before[trial], after[trial]) for trial in sorted(before.keys() & after.keys())]


def _latency(rows: Iterable[IndexRow]) -> float | None:
    """Recorded replies take no time that means anything."""
    return mean_known(row.latency for row in rows if not row.replayed)


def _total_cost(groups: Mapping[str, Sequence[IndexRow]]) -> float | None:
    costs = [row.cost for rows in groups.values() for row in rows]
    return sum(cost for cost in costs if cost is not None) if None not in costs else None
