"""Judges mutants of stored conversations. The target isn't talked to."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from ..errors import ConvoprobeError
from ..judging.criteria import criteria_of
from ..judging.panel import most_calls
from ..llm.known_models import check_model
from ..llm.ledger import Spending
from ..llm.port import Role
from ..redaction import Redactor
from ..result import Outcome, ScenarioResult
from ..results.fingerprints import NO_PRINTS, Prints, take_prints
from ..results.index import IndexRow
from ..results.mutation_file import ScenarioMutations
from ..results.reading import StoredRun
from ..results.trial_filter import final, has_verdict
from ..runs.current_scenarios import Scenarios, live_settings, of_named_target
from ..runs.job import Job
from ..runs.rejudge import NamedTarget, require_whole
from ..runs.session import Session
from ..scenario.loading import LoadedScenario
from ..scenario.models import Scenario
from ..settings.models import ScenarioSettings
from ..targets.port import Description
from .making import mutants_of
from .proofs import criteria_that_held
from .types import Mutant

_BATCH = 4
"""How many times as many mutants as are judged at once are begun together."""

Known = Mapping[str, ScenarioMutations]
"""What earlier runs found out, by scenario id."""


@dataclass(frozen=True)
class Talk:
    """A stored conversation, and its mutants. `problem` says why it has none.

    `prints` are the fingerprints of today's scenario, prompts and judge.
    """

    row: IndexRow
    result: ScenarioResult
    loaded: LoadedScenario | None = None
    settings: ScenarioSettings | None = None
    mutants: tuple[Mutant, ...] = ()
    problem: str = ""
    prints: Prints = NO_PRINTS

    @property
    def held_ids(self) -> tuple[str, ...]:
        """The ids of the criteria that held in the stored verdict."""
        return tuple(criterion.id for criterion, _ in criteria_that_held(self.result, self.scenario))

    @property
    def scenario(self) -> Scenario:
        if self.loaded is None or self.loaded.scenario is None:
            raise ValueError(f"{self.row.scenario_id} has no scenario: {self.problem}")
        return self.loaded.scenario

    @property
    def most_calls(self) -> int:
        """How many calls of the judge one of its mutants takes at most, or itself if it is judged again."""
        if self.settings is None:
            return 0
        criteria = len(criteria_of(self.scenario.evaluation))
        return most_calls(self.settings.judge, criteria) if criteria else 0


@dataclass(frozen=True)
class Probed:
    """A mutant and what became of it.

    `answers` say of each criterion, by id, whether it holds: None where the judge could not tell. Without
    `answers`, code decided, or nobody was asked, or there was no verdict: then `problem` says why. They are
    `known` if an earlier run had asked.
    """

    talk: Talk
    mutant: Mutant
    answers: Mapping[str, bool | None] | None = None
    problem: str = ""
    known: bool = False

    @property
    def came_out(self) -> bool:
        """Whether anything is known of it: a check decided, or the judge was asked."""
        return bool(self.mutant.by_code) or self.answers is not None or bool(self.problem)

    def holds(self, criterion: str) -> bool | None:
        """The judge's word on a criterion: None where it could not tell."""
        return (self.answers or {}).get(criterion)

    @property
    def passed(self) -> bool | None:
        """Whether the scenario lets it through; None where that could not be decided."""
        if self.mutant.by_code:
            return False
        # What did not hold before notices nothing now.
        found = [self.holds(criterion) for criterion in self.talk.held_ids]
        if False in found:
            return False
        return True if found and None not in found else None


@dataclass(frozen=True)
class MutationPlan:
    """What is to be asked: mutants, and how many calls of the judge at least and at most, repairs aside.

    `by_code` of the mutants are decided by checks, and `known` ones were judged by an earlier run.
    `cost` is in US dollars for the most calls; None if no stored call of the judge has a known price.
    """

    mutants: int
    by_code: int
    known: int
    least: int
    most: int
    cost: float | None


def talks_of(
    run: StoredRun,
    session: Session,
    *,
    select: Callable[[IndexRow], bool] = lambda row: True,
    each: int = 1,
) -> list[Talk]:
    """The conversations of a run to make mutants of: up to `each` of a scenario, those that passed first.

    Raises `SettingsError`.
    """
    scenarios = Scenarios(session.rootdir)
    by_scenario: dict[str, list[IndexRow]] = {}
    for row in final(run.rows()):
        if has_verdict(row) and select(row):
            by_scenario.setdefault(row.scenario_id, []).append(row)
    chosen = [
        row
        for rows in by_scenario.values()
        for row in sorted(rows, key=lambda row: row.outcome is not Outcome.PASSED)[:each]
    ]
    return [_talk(run, row, scenarios, session) for row in chosen]


def _talk(run: StoredRun, row: IndexRow, scenarios: Scenarios, session: Session) -> Talk:
    result = run.trial(row).result
    try:
        require_whole(result.transcript)
        loaded = scenarios.of(row)
        loaded = of_named_target(loaded, session.settings_of(loaded.file))
        settings = live_settings(session.settings_of(loaded.file, loaded.configured), loaded)
        talk = Talk(row, result, loaded, settings)
        mutants = tuple(mutants_of(result, talk.scenario))
        # Secrets are taken out as for stored trials, whose fingerprints these are compared with.
        redactor = Redactor(session.settings.secrets)
        prints = take_prints(talk.scenario, settings, Description(), redactor)
        return replace(talk, mutants=mutants, prints=prints)
    except ConvoprobeError as error:
        return Talk(row, result, problem=str(error))


def forecast(talks: Sequence[Talk], known: Known, calls: int | None = None) -> MutationPlan:
    """What probing them will take. `calls` is the limit, if there is one."""
    every = [(talk, mutant) for talk in talks for mutant in talk.mutants]
    asked = [(talk, mutant) for talk, mutant in every if _is_to_ask(talk, mutant, known)]
    by_code = sum(bool(mutant.by_code) for _, mutant in every)
    # The first question of a scenario is whom its criteria are about.
    first = len({talk.row.scenario_id for talk, _ in asked})
    least, most = len(asked) + first, sum(talk.most_calls for talk, _ in asked) + first
    if calls is not None:
        least, most = min(least, calls), min(most, calls)
    price = _price(talks)
    cost = None if price is None else price * most
    return MutationPlan(len(every), by_code, len(every) - by_code - len(asked), least, most, cost)


def _is_to_ask(talk: Talk, mutant: Mutant, known: Known) -> bool:
    return not mutant.by_code and _remembered(talk, mutant, known) is None


def _remembered(talk: Talk, mutant: Mutant, known: Known) -> Mapping[str, bool | None] | None:
    """What the judge said before, if the scenario, the prompts and the judge are still the same."""
    before = known.get(talk.row.scenario_id)
    if before is None or not before.is_about(talk.prints):
        return None
    return before.verdicts.get(digest(mutant))


def digest(mutant: Mutant) -> str:
    """A short name of a mutant's conversation, the same for the same one."""
    return hashlib.sha256(repr(mutant.transcript).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _price(talks: Sequence[Talk]) -> float | None:
    """What a call of the judge cost in the stored trials, on average."""
    spent = [talk.result.spending.get(Role.JUDGE, Spending()) for talk in talks]
    known = [one for one in spent if one.calls and one.cost is not None]
    return sum(one.cost or 0.0 for one in known) / sum(one.calls for one in known) if known else None


def probe(
    talks: Sequence[Talk],
    session: Session,
    known: Known,
    *,
    calls: int | None = None,
    tick: Callable[[int], object] = bool,
    keep: Callable[[list[Probed]], object] = bool,
) -> list[Probed]:
    """Judge the mutants, in the order of the talks. What a check decides, or what is `known`, costs nothing.

    As many are judged at once as `run.concurrency` says. With `calls`, no mutant is begun that might take the
    judge over so many calls: a mutant of every talk comes before the second one of any. `keep` gets all that
    is known now and then, so that Ctrl-C loses little of what was paid for.
    """
    asked = [(talk, mutant) for talk in talks for mutant in talk.mutants if _is_to_ask(talk, mutant, known)]
    if session.live_models:
        for settings in {id(talk.settings): talk.settings for talk, _ in asked}.values():
            if settings is not None:
                check_model(settings.judge, Role.JUDGE)
    order = _by_turns(talks, known)
    counter = _Calls(calls, max((talk.most_calls for talk, _ in asked), default=1))
    found: dict[tuple[int, int], ScenarioResult] = {}
    at_once = session.settings.settings.run.concurrency
    while batch := order[: counter.room(at_once, min(len(order), _BATCH * at_once))]:
        order = order[len(batch) :]
        jobs = [_job(session, talks[at], talks[at].mutants[number], counter) for at, number in batch]
        judged = session.run_all(jobs, tick=lambda: tick(session.pool.stats.done))
        found |= dict(zip(batch, judged, strict=True))
        keep(_all_probed(talks, found, known))
    return _all_probed(talks, found, known)


def _all_probed(
    talks: Sequence[Talk], found: Mapping[tuple[int, int], ScenarioResult], known: Known
) -> list[Probed]:
    return [
        _probed(talk, mutant, found.get((at, number)), known)
        for at, talk in enumerate(talks)
        for number, mutant in enumerate(talk.mutants)
    ]


def _probed(talk: Talk, mutant: Mutant, judged: ScenarioResult | None, known: Known) -> Probed:
    if judged is not None and judged.criteria:
        answers = {one.criterion.id: one.holds for one in judged.criteria}
        return Probed(talk, mutant, answers)
    before = None if mutant.by_code else _remembered(talk, mutant, known)
    return Probed(talk, mutant, before, judged.reason if judged else "", before is not None)


def _by_turns(talks: Sequence[Talk], known: Known) -> list[tuple[int, int]]:
    """The places of the mutants to be judged: the first one of each talk, then the second ones."""
    open_ones = [
        [(at, number) for number, mutant in enumerate(talk.mutants) if _is_to_ask(talk, mutant, known)]
        for at, talk in enumerate(talks)
    ]
    return [place for row in zip_longest(*open_ones) for place in row if place is not None]


class _Calls:
    """Counts calls of the judge, in whichever thread they end. `each` is how many one mutant may take."""

    def __init__(self, most: int | None, each: int) -> None:
        self._most = most
        self._each = each
        self._made = 0
        self._lock = threading.Lock()

    def count(self, role: Role, spent: Spending) -> None:
        # A shared question that was answered before has no attempt, and costs nothing.
        with self._lock:
            self._made += spent.calls if spent.attempts else 0

    def room(self, at_once: int, left: int) -> int:
        """How many of those that are `left` may be begun now: all, unless there is a limit."""
        if self._most is None:
            return left
        return max(0, min(at_once, (self._most - self._made) // self._each))


def _job(session: Session, talk: Talk, mutant: Mutant, counter: _Calls) -> Job:
    assert talk.loaded is not None  # noqa: S101 - only such a talk has mutants
    return session.job(
        talk.loaded,
        talk.row.scenario_id,
        NamedTarget(talk.result.target),
        talk.settings,
        trial=talk.row.trial,
        held=mutant.transcript,
        on_spent=counter.count,
        # Its user said nothing else than in the conversation that passed.
        reviews=False,
        own_checks=False,
    )


def unasked(probed: Sequence[Probed]) -> int:
    """How many mutants were not judged, because of the limit of calls."""
    return sum(not one.came_out for one in probed)


def errors_in(probed: Sequence[Probed]) -> tuple[str, ...]:
    """Why the judge gave no verdict on a mutant, each reason once."""
    return tuple(dict.fromkeys(one.problem for one in probed if one.problem))
