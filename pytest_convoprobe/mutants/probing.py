"""Judges mutants of stored conversations. The target isn't talked to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from ..errors import ConvoprobeError
from ..llm.known_models import check_model
from ..llm.ledger import Spending
from ..llm.port import Role
from ..result import Outcome, ScenarioResult, findings
from ..results.index import IndexRow
from ..results.reading import StoredRun
from ..results.trial_filter import final, has_verdict
from ..runs.current_scenarios import Scenarios, live_settings
from ..runs.job import Job
from ..runs.rejudge import NamedTarget, require_whole
from ..runs.session import Session
from ..scenario.loading import LoadedScenario
from ..scenario.models import Scenario
from ..settings.judge_settings import JudgeSettings
from ..settings.models import ScenarioSettings
from .making import mutants_of
from .types import Mutant


@dataclass(frozen=True)
class Talk:
    """A stored conversation, and its mutants. `problem` says why it has none."""

    row: IndexRow
    result: ScenarioResult
    loaded: LoadedScenario | None = None
    settings: ScenarioSettings | None = None
    mutants: tuple[Mutant, ...] = ()
    problem: str = ""

    @property
    def scenario(self) -> Scenario:
        if self.loaded is None or self.loaded.scenario is None:
            raise ValueError(f"{self.row.scenario_id} has no scenario: {self.problem}")
        return self.loaded.scenario


@dataclass(frozen=True)
class Probed:
    """A mutant and what became of it. `judged` is None where code decided, or where nobody was asked."""

    talk: Talk
    mutant: Mutant
    judged: ScenarioResult | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything came out: a check decided, or the judge was asked."""
        return bool(self.mutant.by_code) or self.judged is not None

    def holds(self, criterion: str) -> bool | None:
        """The judge's word on a criterion: None where it could not tell."""
        found = {one.criterion.id: one.holds for one in self.judged.criteria} if self.judged else {}
        return found.get(criterion)

    @property
    def passed(self) -> bool | None:
        """Whether the scenario would have passed; None where that could not be decided."""
        if self.mutant.by_code:
            return False
        found = [one.holds for one in findings(self.judged)] if self.judged else []
        if False in found:
            return False
        return True if found and None not in found else None


@dataclass(frozen=True)
class MutationPlan:
    """What is to be asked: mutants, and how many calls of the judge at least and at most, repairs aside.

    `cost` is in US dollars for the most calls; None if no stored call of the judge has a known price.
    """

    mutants: int
    by_code: int
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
        settings = live_settings(session.settings_of(loaded.file), loaded)
        talk = Talk(row, result, loaded, settings)
        return replace(talk, mutants=tuple(mutants_of(result, talk.scenario)))
    except ConvoprobeError as error:
        return Talk(row, result, problem=str(error))


def forecast(talks: Sequence[Talk], calls: int | None = None) -> MutationPlan:
    """What probing them will take. `calls` is the limit, if there is one."""
    every = [(talk, mutant) for talk in talks for mutant in talk.mutants]
    asked = [(talk, mutant) for talk, mutant in every if not mutant.by_code]
    # The first question of a scenario is whom its criteria are about.
    first = len({talk.row.scenario_id for talk, _ in asked})
    least, most = len(asked) + first, sum(map(_most_calls, asked)) + first
    if calls is not None:
        least, most = min(least, calls), min(most, calls)
    price = _price(talks)
    return MutationPlan(
        len(every), len(every) - len(asked), least, most, None if price is None else price * most
    )


def _most_calls(asked: tuple[Talk, Mutant]) -> int:
    """The verdict, and the second vote that a verdict against the agent is put to."""
    settings = asked[0].settings
    judge = settings.judge if settings else JudgeSettings()
    return (1 + judge.second_vote) * (1 + len(judge.panel))


def _price(talks: Sequence[Talk]) -> float | None:
    """What a call of the judge cost in the stored trials, on average."""
    spent = [talk.result.spending.get(Role.JUDGE, Spending()) for talk in talks]
    known = [one for one in spent if one.calls and one.cost is not None]
    return sum(one.cost or 0.0 for one in known) / sum(one.calls for one in known) if known else None


def probe(
    talks: Sequence[Talk],
    session: Session,
    *,
    calls: int | None = None,
    tick: Callable[[int], object] = bool,
) -> list[Probed]:
    """Judge the mutants, in the order of the talks. Those that a check decides cost nothing.

    As many are judged at once as `run.concurrency` says. With `calls`, no mutant is begun that might take the
    judge over so many calls: a mutant of every talk comes before the second one of any.
    """
    asked = [(talk, mutant) for talk in talks for mutant in talk.mutants if not mutant.by_code]
    if session.live_models:
        for settings in {id(talk.settings): talk.settings for talk, _ in asked}.values():
            if settings is not None:
                check_model(settings.judge, Role.JUDGE)
    order = _by_turns(talks)
    counter = _Calls(calls, max(map(_most_calls, asked), default=1))
    found: dict[tuple[int, int], ScenarioResult] = {}
    while batch := order[: counter.room(session.settings.settings.run.concurrency, len(order))]:
        order = order[len(batch) :]
        jobs = [_job(session, talks[at], talks[at].mutants[number], counter) for at, number in batch]
        judged = session.run_all(jobs, tick=lambda: tick(session.pool.stats.done))
        found |= dict(zip(batch, judged, strict=True))
    return [
        Probed(talk, mutant, found.get((at, number)))
        for at, talk in enumerate(talks)
        for number, mutant in enumerate(talk.mutants)
    ]


def _by_turns(talks: Sequence[Talk]) -> list[tuple[int, int]]:
    """The places of the mutants to be judged: the first one of each talk, then the second ones."""
    open_ones = [
        [(at, number) for number, mutant in enumerate(talk.mutants) if not mutant.by_code]
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
        with self._lock:
            self._made += spent.calls

    def room(self, at_once: int, left: int) -> int:
        """How many mutants may be begun now: all, unless there is a limit."""
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
        reviews_user=False,
    )


def unasked(probed: Sequence[Probed]) -> int:
    """How many mutants were not judged, because of the limit of calls."""
    return sum(not one.is_known for one in probed)


def errors_in(probed: Sequence[Probed]) -> Iterator[str]:
    """Why the judge gave no verdict on a mutant, each reason once."""
    reasons = (one.judged.reason for one in probed if one.judged is not None and not one.judged.criteria)
    yield from dict.fromkeys(reasons)
