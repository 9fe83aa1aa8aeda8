"""The result of one trial of one scenario: all that a report needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from .errors import Blame
from .judging.types import CheckResult, CriterionResult, ToolSuggestions, UserReview, Vote
from .llm.ledger import Spending
from .llm.port import Role
from .text import one_line
from .transcript import Transcript

_MOST_NAMED = 6


class Outcome(str, Enum):
    """What pytest reports."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class ScenarioResult:
    """One finished trial.

    `reason` is the sentence on why the trial did not pass (reports call `why`); it is empty for a pass.
    `trace` is a short traceback of the user's own code if that crashed. `score` is None without a verdict.
    `started` is in seconds since the epoch. `duration` is in seconds, without the wait in the queue.
    `scenario_id` is the scenario's id within the run; `file` and `line` say where it is.
    `attempts` is how often the trial was run: this is the last attempt, and `spending` is that of all.
    `remedies` are settings that may put an error right, for the door that shows it; they are not stored.
    `unmatched_tools` are names of tools in the scenario that match no call, where the target doesn't say
    which tools it has.
    `review` is about the user's side of a conversation that did not pass, if there is something to say.
    `suggestions` are about the agent's tools, of a conversation that failed; None if nobody asked for any.
    `target` is what the target calls itself. `target_name` is its name among several targets, and empty where
    the scenario has only one.
    """

    name: str
    scenario_id: str
    file: str
    line: int
    outcome: Outcome
    reason: str = ""
    blame: Blame | None = None
    trace: str = ""
    score: float | None = None
    transcript: Transcript = field(default_factory=Transcript)
    criteria: tuple[CriterionResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    spending: Mapping[Role, Spending] = field(default_factory=dict)
    trial: int = 1
    started: float = 0.0
    duration: float = 0.0
    target: str = ""
    models: Mapping[Role, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    unmatched_tools: tuple[str, ...] = ()
    attempts: int = 1
    review: UserReview | None = None
    suggestions: ToolSuggestions | None = None
    target_name: str = ""

    @property
    def base_id(self) -> str:
        """The scenario's id without the target: the same for all targets of a scenario."""
        return without_target(self.scenario_id, self.target_name)

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    @property
    def total(self) -> Spending:
        """The spending of all roles together."""
        return sum(self.spending.values(), Spending())

    @property
    def votes(self) -> int:
        """How many votes there are on the conversation: of each member of a panel, and second ones.

        0 where no judge gave one.
        """
        return max((len(found.votes) or 1 for found in self.criteria), default=0)

    def assert_passed(self) -> None:
        """Raise `ScenarioFailed` if the agent failed, `ScenarioErrored` if there is no verdict."""
        __tracebackhide__ = True  # pytest shows the line that asked, not this one
        if not self.passed:
            raise (ScenarioFailed if self.outcome is Outcome.FAILED else ScenarioErrored)(self)


def without_target(scenario_id: str, target_name: str) -> str:
    """A scenario's id without the name of its target."""
    before, found, after = scenario_id.rpartition(f"[{target_name}]")
    return before + after if target_name and found else scenario_id


class ScenarioNotPassed(Exception):
    """A scenario didn't pass; `result` has the details.

    `decision` is the sentence of the gate, where it decided about several conversations.
    """

    def __init__(self, result: ScenarioResult, decision: str = "") -> None:
        self.result = result
        self.decision = decision
        words = f"{result.name}: {result.outcome.value}: {result.reason}"
        super().__init__(f"{words} ({decision})" if decision else words)


class ScenarioFailed(ScenarioNotPassed, AssertionError):
    """The agent was judged, and a criterion or a check speaks against it."""


class ScenarioErrored(ScenarioNotPassed):
    """There is no verdict on the agent: something else went wrong, or the scenario was skipped."""


def report_order(
    result: ScenarioResult,
) -> tuple[tuple[CriterionResult, ...], tuple[CheckResult, ...]]:
    """Criteria and checks in the order of reports for people: terminal, page, Markdown and JUnit ask here.

    What speaks against the agent comes first, then what could not be decided, then the rest; within each, the
    order is the scenario's own. What is stored, and JSON, has the scenario's order.
    """
    return tuple(sorted(result.criteria, key=_urgency)), tuple(sorted(result.checks, key=_urgency))


def _urgency(found: CriterionResult | CheckResult) -> int:
    return 0 if found.holds is False else 1 if found.holds is None else 2


def findings(result: ScenarioResult) -> list[CriterionResult | CheckResult]:
    """All that judging found, in the order of reports: the criteria, then the checks."""
    criteria, checks = report_order(result)
    return [*criteria, *checks]


def with_attempts(
    result: ScenarioResult, attempts: int, earlier: Iterable[Mapping[Role, Spending]]
) -> ScenarioResult:
    """The last attempt of a trial that was run again; `earlier` is what the ones before it spent."""
    spending = dict(result.spending)
    for spent in earlier:
        for role, more in spent.items():
            spending[role] = spending.get(role, Spending()) + more
    return replace(result, attempts=attempts, spending=spending)


def attempt_words(attempts: int) -> str:
    """`attempt 3 of 3`, for the last of several; empty for the only one."""
    return f"attempt {attempts} of {attempts}" if attempts > 1 else ""


def verdict_reason(criteria: Sequence[CriterionResult], checks: Sequence[CheckResult]) -> str:
    """The sentence on why a verdict is not a pass: `c1 not met: The agent names the city (+1 more: f1)`.

    It says the first finding that speaks against the agent, or else the first that could not be decided, and
    names the others. Checks come first: what code counted is certain.
    """
    named = _speaking(criteria, checks)
    if named:
        return _in_short(named[0]) + _and_more(named[1:])
    return "" if criteria or checks else "nothing was checked: the scenario has neither criteria nor checks"


def why(result: ScenarioResult) -> str:
    """The sentence on why a result is not a pass, for every report; empty for a pass."""
    if result.passed:
        return ""
    # A result that somebody made without a reason still has its findings.
    judged = verdict_reason(*report_order(result)) if result.score is not None and findings(result) else ""
    return result.reason or judged or result.outcome.value


def reasons(result: ScenarioResult) -> tuple[str, ...]:
    """All that `why` is about, a sentence for each finding; empty for a pass."""
    said = why(result)
    of_findings = result.blame in (Blame.AGENT, Blame.JUDGE)
    found = [_in_short(one) for one in _speaking(*report_order(result))] if said and of_findings else []
    if found and said.startswith(found[0]):
        return tuple(found)
    return (said, *found) if said else ()


def _speaking(
    criteria: Sequence[CriterionResult], checks: Sequence[CheckResult]
) -> list[CriterionResult | CheckResult]:
    """What speaks against the agent, or else what could not be decided."""
    found: list[CriterionResult | CheckResult] = [*checks, *criteria]
    return [item for item in found if item.holds is False] or [item for item in found if item.holds is None]


def _and_more(others: Sequence[CriterionResult | CheckResult]) -> str:
    """` (+2 more: f1, required tool search)`."""
    if not others:
        return ""
    names = [_name_of(one) for one in others[:_MOST_NAMED]] + ["…"] * (len(others) > _MOST_NAMED)
    return f" (+{len(others)} more: {', '.join(names)})"


def _name_of(item: CriterionResult | CheckResult) -> str:
    return one_line(item.name) if isinstance(item, CheckResult) else item.criterion.id


def _in_short(item: CriterionResult | CheckResult) -> str:
    if isinstance(item, CheckResult):
        return f"{item.name}: expected {item.expected}, found {item.found}"
    short = f"{item.criterion.id} {answer_word(item.answer)}: {item.criterion.text}"
    return f"{short} ({differing_votes(item)})" if item.holds is None and item.votes else short


def differing_votes(found: CriterionResult) -> str:
    """What the votes on an undecided criterion said, with their findings; empty where there was one only."""
    said = [f"{answer_word(vote.answer)}: {one_line(vote.finding)}" for vote in found.votes]
    # With a panel, who said what is more use than the order.
    of_panel = len({vote.model for vote in found.votes}) > 1
    which = tuple(f"{vote.model} said" for vote in found.votes) if of_panel else _VOTES
    return "; ".join(f"{who} {words}" for who, words in zip(which, said, strict=False))


def second_votes(found: CriterionResult) -> str:
    """What the second votes on a decided criterion said; empty where there are none.

    The finding of an undecided one has them already.
    """
    second = [vote for vote in found.votes if vote.asked == "opposite"] if found.holds is not None else []
    return "; ".join(f"a second vote said {_in_words(vote)}" for vote in second)


def _in_words(vote: Vote) -> str:
    quote = "" if vote.quote is None else f' ("{vote.quote}", turn {vote.turn})'
    return f"{answer_word(vote.answer)}: {one_line(vote.finding + quote)}"


_VOTES = ("the judge said", "a second vote said", *("a further vote said",) * 20)


def answer_word(answer: str) -> str:
    """The judge's word as people write it: `not met`."""
    return answer.replace("_", " ")


def figures(result: ScenarioResult) -> dict[str, str | float]:
    """The figures for reports on single tests, by name, without the unknown ones."""
    total = result.total
    found = {
        "outcome": result.outcome.value,
        "score": None if result.score is None else round(result.score, 4),
        "blame": result.blame.value if result.blame else None,
        "cost": None if total.cost is None else round(total.cost, 6),
        "tokens": total.usage.total,
        "attempts": result.attempts if result.attempts > 1 else None,
        "target": result.target_name or None,
    }
    return {name: value for name, value in found.items() if value is not None}
