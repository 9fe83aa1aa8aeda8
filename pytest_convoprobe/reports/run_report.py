"""A stored run with what came before it: what every report on a whole run is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from ..formatting import counted
from ..gate.suite import SuiteDecision
from ..gate.types import Decision
from ..result import Outcome, ScenarioResult
from ..results.compare import Comparison, FailOn, compare, compare_runs, facts
from ..results.fingerprints import ExplainTools
from ..results.history import Point, Trend, trends
from ..results.index import IndexRow
from ..results.records import TrialRecord
from ..results.run_changes import run_changes
from ..results.run_gate import suite_of
from ..results.run_info import RunInfo, RunState
from ..results.spent_calls import ByRole, Spends, without_result
from ..results.store import RunRef, StoredRun, final
from ..results.tool_schemas import ToolSchemas
from ..results.tools_seen import never_called
from ..results.trial_filter import has_verdict
from ..tool_patterns import matches
from .audit_words import audit_line_of
from .comparison import run_name, run_notes
from .decisions import is_excused
from .money import WithoutResult

WINDOW = 12
"""How many runs a trend has, the one that is reported among them."""

_WORST_FIRST = (Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED, Outcome.PASSED)


@dataclass(frozen=True)
class BaselineComparison:
    """The run that this one is compared with, by its id and its whole `name` (with the commit)."""

    run: str
    comparison: Comparison
    name: str = ""
    fail_on: FailOn = "regression"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunReport:
    """A run, its trials, and the runs before it.

    `trials` are the final ones (of a rerun only the last), worst first and otherwise as they ended.
    `trends` has each scenario's by its id, with this run as the last point; `runs` has the outcomes of
    the same runs as a whole, the oldest first. `notes` say what of the run could not be read. `baseline` is
    the comparison with the run that somebody named, `previous` the one with the run before, if that one is
    comparable. `unseen_tools` are the names of tools in scenarios that match no call in any stored run.
    `without_result` is what calls cost that belong to no trial: of conversations that were interrupted.
    `gate` has what the gate decided; None where each trial counts alone. `audit` is what was measured of such
    gates, in a line with its age; empty without an audit.
    """

    info: RunInfo
    trials: tuple[TrialRecord, ...]
    notes: tuple[str, ...] = ()
    trends: Mapping[str, Trend] = field(default_factory=dict)
    runs: tuple[Mapping[str, int], ...] = ()
    baseline: BaselineComparison | None = None
    previous: BaselineComparison | None = None
    unseen_tools: tuple[str, ...] = ()
    without_result: ByRole = field(default_factory=dict)
    gate: SuiteDecision | None = None
    audit: str = ""

    @cached_property
    def results(self) -> tuple[ScenarioResult, ...]:
        return tuple(trial.result for trial in self.trials)

    @property
    def spenders(self) -> tuple[Spends, ...]:
        """All that has spent something: the results, and what has none."""
        return (*self.results, WithoutResult(self.without_result))

    @cached_property
    def counts(self) -> dict[Outcome, int]:
        """Trials by outcome, all outcomes named."""
        found = Counter(result.outcome for result in self.results)
        return {outcome: found[outcome] for outcome in Outcome}

    @property
    def ran(self) -> int:
        """The trials that ran: skipped ones say nothing."""
        return len(self.trials) - self.counts[Outcome.SKIPPED]

    @property
    def judged(self) -> int:
        """The trials with a verdict on the agent: what a rate is a share of."""
        return self.counts[Outcome.PASSED] + self.counts[Outcome.FAILED]

    @cached_property
    def wrong(self) -> tuple[ScenarioResult, ...]:
        """The results that need looking at: failures that count, and errors."""
        bad = (Outcome.FAILED, Outcome.ERROR)
        return tuple(one for one in self.results if one.outcome in bad and not self.is_excused(one))

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """The decisions of the gate, by scenario id."""
        return {one.scenario_id: one for one in self.gate.decisions} if self.gate else {}

    def decision(self, result: ScenarioResult) -> Decision | None:
        """What the gate decided about the scenario of a result."""
        return self.decisions.get(result.scenario_id)

    def is_excused(self, result: ScenarioResult) -> bool:
        """Whether a conversation failed or has no verdict, and its scenario did not fail for that.

        It failed as often as before, or nobody knows; or another conversation took its place.
        """
        return is_excused(result.outcome, self.decision(result))

    def points(self, scenario_id: str) -> tuple[Point, ...]:
        """The scenario's runs, this one the last."""
        trend = self.trends.get(scenario_id)
        return trend.points if trend else ()

    def before(self, scenario_id: str) -> Point | None:
        """The scenario in the last run before this one that has it."""
        points = self.points(scenario_id)
        return points[-2] if len(points) > 1 else None

    def changed(self, scenario_id: str) -> tuple[str, ...]:
        """What is different from the run before: "scenario", "prompts", "target's tools"…"""
        return self.points(scenario_id)[-1].changed if self.before(scenario_id) else ()

    def newly(self, scenario_id: str) -> bool | None:
        """True if every trial passes now and not before, False if it was the other way round, else None.

        Where the gate decided, that is the word on what is worse: a failure as before is not new.
        """
        before = self.before(scenario_id)
        if before is None or scenario_id in self.decisions:
            return None
        was, now = before.rate, self.points(scenario_id)[-1].rate
        if was is None or now is None or (was == 1) == (now == 1):
            return None
        return now == 1


def read_report(
    run: StoredRun,
    runs: Iterable[RunRef] = (),
    baseline: StoredRun | None = None,
    *,
    fail_on: FailOn = "regression",
    notes: tuple[str, ...] = (),
) -> RunReport:
    """The report on a stored run; `runs` are those of its folder, of which the earlier ones make the trends.

    `notes` are about the choice of the baseline. Raises `ResultsError` if a trial is gone.
    """
    rows, runs = final(run.rows()), list(runs)
    before = _earlier(run, runs)
    unread = list[str]()
    earlier = [row for ref in before for row in ref.rows(unread)]
    against = None
    if baseline is not None:
        compared = compare_runs(baseline, run)
        said = (*notes, *run_notes(compared, baseline.info), *baseline.notes)
        against = BaselineComparison(baseline.id, compared, run_name(baseline.info), fail_on, said)
    trials = [run.trial(row) for row in rows]
    report = make_report(
        run.info,
        trials,
        rows,
        earlier,
        infos={ref.id: ref.info for ref in before},
        notes=(*run.notes, *_missing(run), *unread),
        baseline=against,
        explain=ToolSchemas((run.path, *(ref.path for ref in before))).explain,
    )
    rest = without_result(run.calls, report.results)
    gate = suite_of(run)
    return replace(
        report,
        trials=tuple(in_order(trials, run.decisions())),
        unseen_tools=_unseen(report, runs),
        without_result=rest,
        gate=gate,
        audit=audit_line_of(run) if gate else "",
        # The run before is one of the pasts that the gate compares with, and chance alone makes it differ.
        previous=None if gate else report.previous,
    )


def _unseen(report: RunReport, runs: Iterable[RunRef]) -> tuple[str, ...]:
    """Also by this run's own calls: it needn't be among `runs`."""
    names = dict.fromkeys(name for one in report.results for name in one.unmatched_tools)
    called = {call.name for one in report.results for _, call in one.transcript.tool_calls}
    left = [name for name in names if not any(matches(name, tool) for tool in called)]
    return never_called(left, runs) if left else ()


def _missing(run: StoredRun) -> tuple[str, ...]:
    return (f"{counted(run.missing, 'trial')} missing from the stored results",) if run.missing else ()


def make_report(
    info: RunInfo,
    trials: Iterable[TrialRecord],
    rows: Sequence[IndexRow],
    earlier: Sequence[IndexRow] = (),
    *,
    infos: Mapping[str, RunInfo] | None = None,
    notes: tuple[str, ...] = (),
    baseline: BaselineComparison | None = None,
    explain: ExplainTools | None = None,
) -> RunReport:
    """The report on trials; `rows` are theirs, `earlier` those of the runs before, described by `infos`."""
    now = {row.scenario_id for row in rows}
    found = trends([*earlier, *rows], WINDOW, explain)
    return RunReport(
        info=info,
        trials=tuple(in_order(trials)),
        notes=notes,
        trends={trend.scenario_id: trend for trend in found if trend.scenario_id in now},
        runs=_whole([*earlier, *rows]),
        baseline=baseline,
        previous=_previous(info, rows, earlier, infos or {}, explain),
    )


def _previous(
    info: RunInfo,
    rows: Sequence[IndexRow],
    earlier: Sequence[IndexRow],
    infos: Mapping[str, RunInfo],
    explain: ExplainTools | None,
) -> BaselineComparison | None:
    """The comparison with a comparable run before this one, if there is one.

    It is the newest of those that know most of the scenarios: a partial run in between must not hide what
    got worse.
    """
    by_run: dict[str, list[IndexRow]] = {}
    for row in earlier:
        by_run.setdefault(row.run, []).append(row)
    before = {run: infos.get(run) or RunInfo(run, 0.0, RunState.FINISHED) for run in by_run}
    known = {run: _known(before[run], by_run[run], info, rows) for run in sorted(by_run, reverse=True)}
    run = max(known, key=known.__getitem__, default="")
    if not run or not known[run]:
        return None
    compared = compare(by_run[run], rows, base=facts(before[run]), head=facts(info), explain=explain)
    changed = {**dict.fromkeys(run_changes(before[run], info), 0), **compared.changed}
    return BaselineComparison(run, replace(compared, changed=changed), run_name(before[run]))


def _known(before: RunInfo, old: Sequence[IndexRow], info: RunInfo, rows: Sequence[IndexRow]) -> int:
    """On how many of the scenarios a run before has a verdict; 0 if it isn't comparable.

    It is if it finished, met the same target, and knows half of them.
    """
    targets = {one.models.get("target") for one in (before, info)} - {None}
    ran = {row.scenario_id for row in rows if row.outcome is not Outcome.SKIPPED}
    known = len(ran & {row.scenario_id for row in old if has_verdict(row)})
    return known if before.came_to_its_end and len(targets) < 2 and len(ran) <= 2 * known else 0


def in_order(
    trials: Iterable[TrialRecord], decisions: Mapping[str, Decision] = MappingProxyType({})
) -> list[TrialRecord]:
    """What needs looking at first, and the trials of a scenario together."""
    results = list(trials)
    worst: dict[str, int] = {}
    first: dict[str, int] = {}
    for number, one in enumerate(results):
        key = one.result.scenario_id
        rank = _rank(one.result.outcome, decisions.get(key))
        worst[key] = min(rank, worst.get(key, rank))
        first.setdefault(key, number)
    return sorted(
        results, key=lambda one: (worst[(key := one.result.scenario_id)], first[key], one.result.trial)
    )


def _rank(outcome: Outcome, decision: Decision | None) -> int:
    """What failed as before comes after all that needs looking at, and before what passed."""
    return len(_WORST_FIRST) - 2 if is_excused(outcome, decision) else _WORST_FIRST.index(outcome)


def _earlier(run: StoredRun, runs: Iterable[RunRef]) -> list[RunRef]:
    """The last few runs that began before this one, the oldest first. Ids begin with the time."""
    return sorted((one for one in runs if one.id < run.id), key=lambda one: one.id)[1 - WINDOW :]


def _whole(rows: Iterable[IndexRow]) -> tuple[Mapping[str, int], ...]:
    """The outcomes of each run, in the order of their ids."""
    by_run: dict[str, Counter[str]] = {}
    for row in final(rows):
        by_run.setdefault(row.run, Counter())[row.outcome.value] += 1
    return tuple(dict(counts) for _, counts in sorted(by_run.items()))
