"""From stored runs to an audit: which conversations count, what the judge is asked, what is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import zip_longest

from ..mutants.probing import Known, MutationPlan, Talk, forecast, probe, talks_of
from ..mutants.scoring import scores
from ..redaction import Redactor
from ..results.audit_file import Audit, FlipFigures, GateFigures, ScenarioAudit
from ..results.fingerprints import NO_PRINTS, changed_inputs
from ..results.index import IndexRow
from ..results.mutation_file import ScenarioMutations
from ..results.past_talks import PastTalks, newest_alike
from ..results.past_talks import talks_of as past_talks
from ..results.reading import StoredRun
from ..results.trial_filter import final, has_verdict, is_undecided, mean, really_happened
from ..runs.session import Session
from ..scenario.gate_rule import mode_of
from ..settings.gate_settings import GateSettings
from ..stats import at_most
from .flips import Flips, all_figures, flips_of, judged_again
from .gates import EXTENTS, PARTS, Drawn, draw_gates
from .suite import AuditedScenario, Rules, TalkVerdict

Tick = Callable[[str], object]


@dataclass(frozen=True)
class AuditMaterial:
    """What there is to measure with: the runs, the newest conversation of each scenario, and all pasts.

    `rows` are those conversations, the newest first, that rest on today's scenario, prompts and judge.
    `unjudged` is the share of such conversations that had no verdict, so that another one took their place.
    """

    runs: tuple[StoredRun, ...]
    talks: tuple[Talk, ...]
    pasts: PastTalks
    rows: Mapping[str, Sequence[IndexRow]]
    unjudged: float = 0.0

    @property
    def price(self) -> float | None:
        """What a conversation cost on average, in US dollars; None where that isn't known."""
        return mean(row.cost for rows in self.rows.values() for row in rows)


@dataclass(frozen=True)
class JudgePlan:
    """What the judge is to be asked. `calls` is the limit of calls, None without one."""

    again: int
    mutants: MutationPlan
    calls: int | None


def material(
    runs: Sequence[StoredRun], session: Session, select: Callable[[IndexRow], bool] = lambda row: True
) -> AuditMaterial:
    """Read the runs, the newest first. Raises `ResultsError` and `SettingsError`."""
    by_scenario: dict[str, list[IndexRow]] = {}
    talks: list[Talk] = []
    undecided: list[IndexRow] = []
    for run in runs:
        live = [row for row in final(run.rows()) if _may_gate(row) and select(row)]
        undecided += [row for row in live if is_undecided(row)]
        rows = [row for row in live if has_verdict(row)]
        new = {row.scenario_id for row in rows} - by_scenario.keys()
        if new:
            talks += talks_of(run, session, select=_one_of(new, select))
        for row in rows:
            by_scenario.setdefault(row.scenario_id, []).append(row)
    alike = {
        talk.row.scenario_id: [
            row for row in by_scenario[talk.row.scenario_id] if not changed_inputs(row.prints, talk.prints)
        ]
        for talk in talks
        if not talk.problem
    }
    prints = {talk.row.scenario_id: talk.prints for talk in talks if not talk.problem}
    lost = sum(not changed_inputs(row.prints, prints.get(row.scenario_id, NO_PRINTS)) for row in undecided)
    unjudged = _mean(lost, lost + sum(map(len, alike.values())))
    return AuditMaterial(tuple(runs), tuple(talks), past_talks(runs), alike, unjudged)


def _may_gate(row: IndexRow) -> bool:
    return not row.replayed and not really_happened(row)


def _one_of(names: Collection[str], select: Callable[[IndexRow], bool]) -> Callable[[IndexRow], bool]:
    return lambda row: row.scenario_id in names and _may_gate(row) and select(row)


def plan(found: AuditMaterial, known: Known, again: int, calls: int | None) -> JudgePlan:
    """What will be asked: `again` conversations of each scenario a second time, and the mutants."""
    rows = _rows_again(found, again, calls)
    left = None if calls is None else max(0, calls - _calls_each(found) * len(rows))
    return JudgePlan(len(rows), forecast(found.talks, known, left), calls)


def _calls_each(found: AuditMaterial) -> int:
    """How many calls of the judge one conversation may take."""
    return max([1, *(talk.most_calls for talk in found.talks)])


def _rows_again(found: AuditMaterial, again: int, calls: int | None) -> list[IndexRow]:
    """The newest conversations of each scenario; with a limit, at most half of it is for them."""
    by_turns = zip_longest(*(every[:again] for every in found.rows.values()))
    rows = [row for turn in by_turns for row in turn if row is not None]
    return rows if calls is None else rows[: calls // 2 // _calls_each(found)]


@dataclass(frozen=True)
class JudgeFindings:
    """What the judge said: flips by scenario, and what each scenario notices."""

    flips: Mapping[str, Flips]
    mutations: Mapping[str, ScenarioMutations]
    new: tuple[ScenarioMutations, ...] = ()


def ask(
    found: AuditMaterial, session: Session, known: Known, *, again: int, calls: int | None, tick: Tick = bool
) -> JudgeFindings:
    """Judge conversations again, and mutants. What is known of a scenario as it is today costs nothing."""
    rows = _rows_again(found, again, calls)
    judged = judged_again(
        found.runs, rows, session, lambda done: tick(f"{done} of {len(rows)} conversations judged again …")
    )
    spent = sum(one.new.total.calls for one in judged if one.new is not None)
    left = None if calls is None else max(0, calls - spent)
    probed = probe(
        found.talks, session, known, calls=left, tick=lambda done: tick(f"{done} mutants judged …")
    )
    run = found.runs[0].id if found.runs else ""
    redactor = Redactor(session.settings.secrets)
    new = tuple(one for one in scores(probed, run, time.time(), redactor) if one.score is not None)
    return JudgeFindings(
        flips_of(judged), known_now(found, known) | {one.scenario_id: one for one in new}, new
    )


def known_now(found: AuditMaterial, known: Known) -> dict[str, ScenarioMutations]:
    """What is known of the scenarios as they are today."""
    prints = {talk.row.scenario_id: talk.prints for talk in found.talks if not talk.problem}
    return {
        name: one
        for name, one in known.items()
        if name in prints and one.is_about(prints[name]) and one.score is not None
    }


def suite_of(
    found: AuditMaterial, judged: JudgeFindings, gate: GateSettings, today: date
) -> list[AuditedScenario]:
    """The scenarios as the gate sees them."""
    return [_scenario(talk, found, judged, gate, today) for talk in found.talks if not talk.problem]


def _scenario(
    talk: Talk, found: AuditMaterial, judged: JudgeFindings, gate: GateSettings, today: date
) -> AuditedScenario:
    name, rule = talk.row.scenario_id, talk.scenario.gate
    verdicts = newest_alike(found.pasts.by_scenario.get(name, ()), talk.prints)
    known = judged.mutations.get(name)
    return AuditedScenario(
        name,
        tuple(TalkVerdict(one.run, one.failed) for one in verdicts),
        None if known is None else known.score,
        mode_of(rule, today)[0] == "block",
        min(rule.first if rule and rule.first else gate.first, gate.most),
        gate.most,
    )


def rules_of(gate: GateSettings) -> Rules:
    """How the suite gates when it has a past."""
    policy = "paired" if gate.policy == "auto" else gate.policy
    return Rules(policy, gate.alpha, gate.per_scenario, gate.max_talks)


def audit_of(
    found: AuditMaterial,
    judged: JudgeFindings,
    suite: Sequence[AuditedScenario],
    rules: Rules,
    drawn: Drawn,
    at: float,
) -> Audit:
    """All figures together, without promises and advice."""
    decisions = [one for run in found.runs for one in run.decisions().values()]
    judges = {talk.settings.judge.model or "" for talk in found.talks if talk.settings is not None}
    return Audit(
        at=at,
        runs=tuple(run.id for run in found.runs),
        policy=rules.policy,
        alpha=rules.alpha,
        judge=", ".join(sorted(filter(None, judges))),
        gate=gate_figures(drawn, len([one for one in suite if one.talks]), found),
        scenarios=tuple(_figures(one, found, judged, drawn) for one in suite),
        flips=all_figures(judged.flips),
        votes=sum(one.votes for one in decisions),
        overruled=sum(one.overruled for one in decisions),
    )


def gate_figures(drawn: Drawn, scenarios: int, found: AuditMaterial) -> GateFigures:
    """The figures of gates over so many scenarios."""
    # One without a verdict is replaced by another, which may have none either.
    more = 1 / (1 - found.unjudged) if found.unjudged < 1 else 1.0
    each = sorted(more * talks / scenarios for talks in drawn.talks) if scenarios else []
    talks = _mean(sum(each), len(each))
    return GateFigures(
        gates=drawn.gates,
        red=drawn.red,
        red_at_most=at_most(drawn.red, drawn.gates) or (0.0 if drawn.gates else 1.0),
        undecided=_mean(sum(drawn.undecided.values()), drawn.gates * scenarios),
        talks=talks,
        talks_95=each[min(len(each) - 1, int(0.95 * len(each)))] if each else 0.0,
        cost=None if found.price is None else found.price * talks,
        missed=_missed(drawn),
    )


def _missed(drawn: Drawn) -> dict[str, dict[str, float]]:
    return {
        part: {extent: share for extent in EXTENTS if (share := drawn.missed(part, extent)) is not None}
        for part in (PARTS if drawn.broken else ())
    }


def _figures(
    one: AuditedScenario, found: AuditMaterial, judged: JudgeFindings, drawn: Drawn
) -> ScenarioAudit:
    name = one.scenario_id
    flips, known = judged.flips.get(name), judged.mutations.get(name)
    return ScenarioAudit(
        name,
        one.past.talks,
        one.past.failed,
        drawn.red_scenarios[name],
        _mean(drawn.spent[name], drawn.gates),
        one.sees,
        known.blind if known else (),
        flips.figures if flips else FlipFigures(),
        dict(flips.criteria) if flips else {},
        next(talk.prints for talk in found.talks if talk.row.scenario_id == name),
    )


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0


def drawn_with_first(
    found: AuditMaterial, suite: Iterable[AuditedScenario], rules: Rules, first: int, gates: int
) -> GateFigures:
    """The figures with so many first conversations of each scenario."""
    more = [replace(one, first=min(first, one.most)) for one in suite]
    return gate_figures(draw_gates(more, rules, gates), len([one for one in more if one.talks]), found)
