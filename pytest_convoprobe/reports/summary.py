"""The lines at the end of a run: what did not pass, how many did, who is to blame, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from ..errors import Blame
from ..formatting import counted, dollars, seconds
from ..gate.types import Decision
from ..judging.types import NO_SUCH_TOOL, PROHIBITED
from ..llm.ledger import Spending
from ..llm.port import Role
from ..result import Outcome, ScenarioResult, attempt_words, without_target
from ..results.spent_calls import ByRole, without_result
from ..text import harmless, one_line, shorten, visible
from .decisions import is_excused
from .failure import headline
from .money import ROLE_NAMES, WithoutResult, by_roles, without_agent
from .target_table import target_table_lines, target_table_of
from .wire_lines import made_no_call, unrecorded_calls, unrecorded_notes, unused_gateway

_SLOWEST = 3
_LISTED = 20
_WORDS = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERROR: "error",
    Outcome.SKIPPED: "skipped",
}


@dataclass(frozen=True)
class Digest:
    """What the summary needs of a result; small, and able to travel between processes as JSON."""

    name: str
    outcome: Outcome
    blame: Blame | None
    duration: float
    spending: Mapping[Role, Spending]
    headline: str = ""
    file: str = ""
    line: int = 0
    trial: int = 1
    scenario_id: str = ""
    attempts: int = 1
    unmatched_tools: tuple[str, ...] = ()
    absent_tools: tuple[str, ...] = ()
    votes: int = 0
    no_model_calls: bool = False
    unrecorded: str = ""
    target_name: str = ""

    @classmethod
    def of(cls, result: ScenarioResult) -> Digest:
        """The digest of a result."""
        return cls(
            name=result.name,
            outcome=result.outcome,
            blame=result.blame,
            duration=result.duration,
            spending=dict(result.spending),
            headline="" if result.passed else headline(result),
            file=result.file,
            line=result.line,
            trial=result.trial,
            scenario_id=result.scenario_id,
            attempts=result.attempts,
            unmatched_tools=result.unmatched_tools,
            absent_tools=_absent(result),
            votes=result.votes,
            no_model_calls=made_no_call(result.transcript),
            unrecorded=unrecorded_calls(result.transcript),
            target_name=result.target_name,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, text and numbers."""
        safe = replace(
            self,
            name=_encodable(self.name),
            file=_encodable(self.file),
            scenario_id=_encodable(self.scenario_id),
            unmatched_tools=tuple(map(_encodable, self.unmatched_tools)),
            absent_tools=tuple(map(_encodable, self.absent_tools)),
            unrecorded=_encodable(self.unrecorded),
            target_name=_encodable(self.target_name),
        )
        data: dict[str, Any] = _adapter().dump_python(safe, mode="json")
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Digest:
        """The digest that `to_json` gave."""
        return _adapter().validate_python(data)

    @property
    def base_id(self) -> str:
        """The scenario's id without the target."""
        return without_target(self.scenario_id, self.target_name)

    @property
    def label(self) -> str:
        """The name on one harmless line, with the trial where it isn't the first, and the attempt."""
        name = harmless(shorten(one_line(self.name), 60))
        trial = f"trial {self.trial}" if self.trial > 1 else ""
        which = ", ".join(filter(None, (trial, attempt_words(self.attempts))))
        return f"{name} ({which})" if which else name


def _encodable(text: str) -> str:
    """Lone surrogates can't travel to another process."""
    # execnet, by which xdist talks, encodes strictly.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def _adapter() -> TypeAdapter[Digest]:
    return TypeAdapter(Digest)


def summary_lines(
    results: Iterable[ScenarioResult | Digest],
    *,
    verbosity: int = 0,
    calls: ByRole | None = None,
    decided: Mapping[str, Decision] = MappingProxyType({}),
) -> list[str]:
    """The summary of a run; none if there are no results. `calls` is what all its calls cost.

    `decided` is what the gate says of scenarios: conversations that made none fail have no line of their own.

    What did not pass has a line each, at most twenty unless `-v` is given. Spent money is separate
    from what recordings answered.
    """
    digests = [item if isinstance(item, Digest) else Digest.of(item) for item in results]
    lost = without_result(calls or {}, digests)
    if not digests:
        # All were interrupted, and may have cost something all the same.
        return _spent(digests, lost) if lost else []
    return [
        *_not_passed(_counting(digests, decided), None if verbosity > 0 else _LISTED),
        *_passed_later(digests),
        _totals(digests),
        *_targets(digests, None if verbosity > 0 else _LISTED),
        *_spent(digests, lost),
        *_replayed(digests),
        *_votes(digests),
        *_slowest(digests),
        *_unused_gateway(digests),
        *_unrecorded(digests),
        *_cannot_fail(digests),
    ]


def _targets(digests: Sequence[Digest], limit: int | None) -> list[str]:
    """A line a scenario and a column a target, where there are several."""
    found = target_table_of(digests)
    return [] if found is None else target_table_lines(found, limit)


def _counting(digests: Sequence[Digest], decided: Mapping[str, Decision]) -> list[Digest]:
    return [one for one in digests if not is_excused(one.outcome, decided.get(one.scenario_id))]


def _absent(result: ScenarioResult) -> tuple[str, ...]:
    """The prohibited tools that the target doesn't have."""
    return tuple(one.name.removeprefix(PROHIBITED) for one in result.checks if one.found == NO_SUCH_TOOL)


def _cannot_fail(digests: Sequence[Digest]) -> list[str]:
    """A prohibition that can't be broken is no evidence: its name may be that of an earlier version."""
    names = dict.fromkeys(name for digest in digests for name in digest.absent_tools)
    listed = ", ".join(one_line(visible(name)) for name in names)
    return (
        [f"note: prohibited, but the target has no such tool, so this can't fail: {listed}"] if names else []
    )


def _not_passed(digests: Sequence[Digest], limit: int | None) -> list[str]:
    """`failed   Refund after a month: agent: f1 triggered: It promises a refund`."""
    wrong = [digest for digest in digests if digest.outcome is not Outcome.PASSED]
    lines = [
        f"{_WORDS[digest.outcome]:<8} {digest.label}: {shorten(digest.headline, 160)}"
        for digest in wrong[:limit]
    ]
    more = len(wrong) - len(lines)
    return [*lines, f"         and {more:,} more (-v lists them)"] if more else lines


def _passed_later(digests: Sequence[Digest]) -> list[str]:
    """`passed   Refund (attempt 3 of 3)`: a pass that took several attempts is less than a pass."""
    later = [one for one in digests if one.outcome is Outcome.PASSED and one.attempts > 1]
    lines = [f"{_WORDS[one.outcome]:<8} {one.label}" for one in later[:_LISTED]]
    more = len(later) - len(lines)
    return [*lines, f"         and {more:,} more passed on a later attempt"] if more else lines


def _totals(digests: Sequence[Digest]) -> str:
    """`7 scenarios: 4 passed, 1 failed (agent), 2 errors (1 judge, 1 infrastructure)`."""
    counts = Counter(digest.outcome for digest in digests)
    parts = [_total(digests, outcome, counts[outcome]) for outcome in Outcome if counts[outcome]]
    return f"{_how_many(digests)}: {', '.join(parts)}"


def _how_many(digests: Sequence[Digest]) -> str:
    """`2 scenarios`, or `2 scenarios, 6 trials` where they ran several times: what is counted are trials."""
    if all(digest.trial == 1 for digest in digests):
        return counted(len(digests), "scenario")
    scenarios = len({(digest.file, digest.scenario_id or digest.name) for digest in digests})
    return f"{counted(scenarios, 'scenario')}, {counted(len(digests), 'trial')}"


def _total(digests: Sequence[Digest], outcome: Outcome, count: int) -> str:
    word = counted(count, "error") if outcome is Outcome.ERROR else f"{count:,} {_WORDS[outcome]}"
    blames = Counter(
        digest.blame.value for digest in digests if digest.outcome is outcome and digest.blame is not None
    )
    if not blames:
        return word
    # `2 errors (judge)` and not `2 errors (2 judge)`.
    alone = len(blames) == 1 and sum(blames.values()) == count
    named = [blame if alone else f"{number:,} {blame}" for blame, number in blames.most_common()]
    return f"{word} ({', '.join(named)})"


def _spent(digests: Sequence[Digest], lost: ByRole) -> list[str]:
    """What was spent now, with what the total lacks, and by role where there are several."""
    spent = by_roles([*digests, WithoutResult(lost)], replayed=False)
    if not spent and not by_roles(digests, replayed=True):
        return []
    total = _tokens_and_cost(sum(spent.values(), Spending())) if spent else "nothing"
    remark = without_agent(digests)
    roles = [f"  {ROLE_NAMES[role]}: {_tokens_and_cost(used)}" for role, used in spent.items()]
    line = f"spent: {total} ({remark})" if remark else f"spent: {total}"
    of_it = sum(lost.values(), Spending())
    rest = [f"  of it without a result: {_tokens_and_cost(of_it)}"] if lost else []
    return [line, *(roles if len(roles) > 1 else []), *rest]


def _replayed(digests: Sequence[Digest]) -> list[str]:
    replayed = sum(by_roles(digests, replayed=True).values(), Spending())
    return [f"replayed: {_tokens_and_cost(replayed)} when recorded"] if replayed.calls else []


def _votes(digests: Sequence[Digest]) -> list[str]:
    """`judge: 3 votes a conversation, $0.0012 a vote`, where there are more votes than conversations."""
    judged = [digest for digest in digests if digest.votes]
    votes = sum(digest.votes for digest in judged)
    if votes <= len(judged):
        return []
    spent = sum((digest.spending.get(Role.JUDGE, Spending()) for digest in judged), Spending())
    each = dollars(None) if spent.cost is None else f"{dollars(spent.cost / votes)} a vote"
    mean = f"{votes / len(judged):.1f}".removesuffix(".0")
    return [f"judge: {mean} votes a conversation, {each}"]


def _tokens_and_cost(spending: Spending) -> str:
    partly = f", {spending.replayed:,} of them replayed" if 0 < spending.replayed < spending.calls else ""
    retried = spending.attempts - spending.calls
    retries = f", {retried:,} tried again" if retried > 0 else ""
    calls = "its own calls" if spending.is_agents_own else counted(spending.calls, "call")
    tokens = counted(spending.usage.total, "token")
    return f"{dollars(spending.cost)}, {tokens} in {calls}{partly}{retries}"


def _unused_gateway(digests: Sequence[Digest]) -> list[str]:
    """A pass may rest on live calls that no recording has, so that also a green run says so."""
    words = unused_gateway(digest.no_model_calls for digest in digests)
    return [f"note: {words}"] if words else []


def _unrecorded(digests: Sequence[Digest]) -> list[str]:
    """A green run may have left a recording that can't be replayed."""
    return [
        f"note: {harmless(note)}" for note in unrecorded_notes((one.label, one.unrecorded) for one in digests)
    ]


def _slowest(digests: Sequence[Digest]) -> list[str]:
    """The three that took longest, where there are more than three to choose from."""
    ran = [digest for digest in digests if digest.outcome is not Outcome.SKIPPED]
    # Of three, the three slowest are no news.
    if len(ran) <= _SLOWEST:
        return []
    slowest = sorted(ran, key=lambda digest: -digest.duration)[:_SLOWEST]
    return ["slowest:", *(f"  {seconds(digest.duration)}  {digest.label}" for digest in slowest)]
