"""Judges stored conversations again, with today's criteria, prompts and judge. The target isn't talked to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ..errors import Blame, ConvoprobeError, ResultsError
from ..judging.call_lists import EXPECTED_CALLS
from ..judging.checks import GREETING, SILENCE
from ..judging.latency import LATENCY
from ..judging.reply_checks import REPLY_NAMES
from ..judging.tool_checks import ONLY_LISTED
from ..judging.types import CheckResult, CriterionResult
from ..llm.known_models import check_model
from ..llm.ledger import replays_agent
from ..llm.port import Role
from ..result import Outcome, ScenarioResult
from ..results.index import IndexRow
from ..results.reading import StoredRun
from ..results.trial_filter import final
from ..scenario.loading import LoadedScenario
from ..scenario.models import Scenario
from ..targets.port import ConversationContext, TargetConversation
from ..transcript import Termination, Transcript
from .check_functions import PREFIX
from .current_scenarios import Scenarios, live_settings, of_named_target
from .job import Job
from .session import Session

# A conversation with any other end lacks what the agent would still have said or done.
_WHOLE = frozenset(
    {
        Termination.USER_DONE,
        Termination.USER_GAVE_UP,
        Termination.MAX_TURNS,
        Termination.AGENT_ENDED,
        Termination.LOOP,
    }
)
# The names that `run_checks` gives. All other checks are the project's own, which only pytest can repeat.
_BY_SCENARIO = re.compile(
    rf"(?:required|prohibited) tool .+|{ONLY_LISTED}|{SILENCE}|{GREETING}|{LATENCY}"
    r"|tool calls|turns|tokens of the agent"
    r"|.+: (?:number of calls|arguments|called)(?: (?:by|in) turn \d+)?"
    r"|.+: (?:not before turn \d+|(?:before|after) .+)"
    rf"|{EXPECTED_CALLS} \(\w+\)|{REPLY_NAMES}"
    rf"|{PREFIX}[^\s:]+:[\w.]+(?:: .+)?"
)


@dataclass(frozen=True)
class AnswerChange:
    """One criterion or check, before and after; None on the side that doesn't have it.

    `key` is the criterion's text or the check's name.
    """

    key: str
    old: CriterionResult | CheckResult | None
    new: CriterionResult | CheckResult | None

    @property
    def changed(self) -> bool:
        """Whether it is new, gone, or speaks otherwise for the agent than it did."""
        if self.old is None or self.new is None:
            return True
        return self.old.holds is not self.new.holds


@dataclass(frozen=True)
class Rejudged:
    """A stored trial and the verdict on it today.

    `new` is None where it couldn't be judged again, and `problem` says why. Its `spending` is the
    judge's alone. `new` may be an error too, when the judge gave no verdict.
    """

    row: IndexRow
    old: ScenarioResult
    new: ScenarioResult | None
    problem: str = ""

    @property
    def changed(self) -> bool:
        """Whether the outcome is another one."""
        return self.new is not None and self.new.outcome is not self.old.outcome

    @property
    def answers(self) -> tuple[AnswerChange, ...]:
        """Every criterion and check of both sides: why the verdict changed. In the order of today's."""
        old = dict(_by_key(self.old))
        new = dict(_by_key(self.new)) if self.new else {}
        return tuple(AnswerChange(key[1], old.get(key), new.get(key)) for key in {**new, **old})


def rejudge(
    run: StoredRun,
    session: Session,
    *,
    select: Callable[[IndexRow], bool] = lambda row: True,
    tick: Callable[[int], object] = bool,
    other_order: bool = False,
) -> list[Rejudged]:
    """Judge the selected trials of a run again, in the order of the store.

    With `other_order` the judge gets the criteria from the last to the first.

    Scenario files are looked for from the session's rootdir, which was pytest's. As many are judged at once
    as `run.concurrency` says. `tick` is called now and then with the number of those that are done.
    """
    scenarios = Scenarios(session.rootdir)
    rows = [row for row in final(run.rows()) if _has_conversation(row) and select(row)]
    begun = [_begun(run, row, scenarios, session, other_order) for row in rows]
    jobs = [job for _, job in begun if job is not None]
    if session.live_models:
        for job in jobs:
            if job.scenario.evaluation.asks_judge:
                check_model(job.settings.judge, Role.JUDGE)
    judged = iter(session.run_all(jobs, tick=lambda: tick(session.pool.stats.done)))
    return [one if job is None else _with_verdict(one, next(judged)) for one, job in begun]


def _has_conversation(row: IndexRow) -> bool:
    """What the judge could not decide may be skipped too, but there is a conversation to judge again."""
    return row.outcome is not Outcome.SKIPPED or row.blame is Blame.JUDGE


def _begun(
    run: StoredRun, row: IndexRow, scenarios: Scenarios, session: Session, other_order: bool
) -> tuple[Rejudged, Job | None]:
    """What is known before the judge is asked, and the job that asks it; None where that cannot be done."""
    old = run.trial(row).result
    try:
        require_whole(old.transcript)
        loaded = scenarios.of(row)
        loaded = of_named_target(loaded, session.settings_of(loaded.file))
    except ConvoprobeError as error:
        return Rejudged(row, old, None, str(error)), None
    job = session.job(
        _reversed(loaded) if other_order else loaded,
        row.scenario_id,
        NamedTarget(old.target),
        live_settings(session.settings_of(loaded.file, loaded.configured), loaded),
        trial=row.trial,
        extra_checks=_carried_over(old.checks),
        stored_checks=old.checks,
        held=replace(old.transcript, replayed=replays_agent(old.spending)),
    )
    return Rejudged(row, old, None), job


def _reversed(loaded: LoadedScenario) -> LoadedScenario:
    """The scenario with its criteria from the last to the first: what they ask is the same."""
    if loaded.scenario is None:
        return loaded
    before = loaded.scenario.evaluation
    criteria = {
        "correctness_criteria": before.correctness_criteria[::-1],
        "failure_criteria": before.failure_criteria[::-1],
    }
    evaluation = before.model_copy(update=criteria)
    return replace(loaded, scenario=loaded.scenario.model_copy(update={"evaluation": evaluation}))


def _with_verdict(one: Rejudged, new: ScenarioResult) -> Rejudged:
    old = one.old
    return replace(one, new=replace(new, file=old.file, started=old.started, target_name=old.target_name))


def require_whole(transcript: Transcript) -> None:
    """Raises `ResultsError` for a conversation that broke off: there is no verdict on a part."""
    if transcript.termination not in _WHOLE:
        ended = transcript.termination.value.replace("_", " ") if transcript.termination else "unknown"
        raise ResultsError(f"the conversation broke off ({ended}): only a complete one can be judged")


def _carried_over(checks: Iterable[CheckResult]) -> Callable[[Scenario, Transcript], Iterable[CheckResult]]:
    """The project's own checks as they came out then: they are about the same conversation."""
    own = [check for check in checks if not _BY_SCENARIO.fullmatch(check.name)]
    return lambda scenario, transcript: own


def _by_key(
    result: ScenarioResult,
) -> Iterator[tuple[tuple[str, str], CriterionResult | CheckResult]]:
    """Criteria by their words, since their ids move when one is put in or taken out.

    The second of the same words is another one than the first.
    """
    seen: Counter[tuple[str, str]] = Counter()
    # In the scenario's order, which doesn't depend on what was found.
    both: list[CriterionResult | CheckResult] = [*result.criteria, *result.checks]
    for found in both:
        kind, words = _words(found)
        seen[kind, words] += 1
        yield (f"{kind} {seen[kind, words]}", words), found


def _words(found: CriterionResult | CheckResult) -> tuple[str, str]:
    if isinstance(found, CheckResult):
        return "check", found.name
    return found.criterion.kind.value, found.criterion.text


@dataclass(frozen=True)
class NamedTarget:
    """Stands for the target of a conversation that is over."""

    name: str

    async def start(self, context: ConversationContext) -> TargetConversation:
        raise AssertionError("a conversation that is over is not repeated")

    async def aclose(self) -> None:
        """Nothing is open."""
