"""The few lines at the end of a run: how many passed, who is to blame for the rest, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Blame
from ..llm.ledger import Spending
from ..llm.port import Role
from ..result import Outcome, ScenarioResult
from ..text import harmless, one_line, shorten
from ..transcript import Usage
from .money import ROLE_NAMES, counted, dollars, is_replayed

_SLOWEST = 3
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

    @classmethod
    def of(cls, result: ScenarioResult) -> Digest:
        """The digest of a result."""
        return cls(result.name, result.outcome, result.blame, result.duration, dict(result.spending))

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, text and numbers."""
        return {
            "name": self.name.encode("utf-8", "backslashreplace").decode("utf-8"),
            "outcome": self.outcome.value,
            "blame": self.blame.value if self.blame else None,
            "duration": self.duration,
            "spending": {role.value: _spending_to_json(spent) for role, spent in self.spending.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Digest:
        """The digest that `to_json` gave."""
        return cls(
            name=data["name"],
            outcome=Outcome(data["outcome"]),
            blame=Blame(data["blame"]) if data["blame"] else None,
            duration=data["duration"],
            spending={Role(role): _spending_from_json(spent) for role, spent in data["spending"].items()},
        )


def _spending_to_json(spent: Spending) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "attempts": spent.attempts,
        "replayed": spent.replayed,
        "tokens": [spent.usage.prompt_tokens, spent.usage.completion_tokens],
        "cost": spent.cost,
    }


def _spending_from_json(data: Mapping[str, Any]) -> Spending:
    usage = Usage(*data["tokens"])
    return Spending(data["calls"], data["attempts"], data["replayed"], usage, data["cost"])


def summary_lines(results: Iterable[ScenarioResult | Digest], *, verbosity: int = 0) -> list[str]:
    """The summary of a run, at most ten lines; none if there are no results.

    Spent money stands apart from what recordings answered. With `-v` the slowest are named.
    """
    digests = [item if isinstance(item, Digest) else Digest.of(item) for item in results]
    if not digests:
        return []
    lines = [_totals(digests), *_spent(digests), *_replayed(digests)]
    return lines + (_slowest(digests) if verbosity > 0 else [])


def _totals(digests: Sequence[Digest]) -> str:
    """`7 scenarios: 4 passed, 1 failed (agent), 2 errors (1 judge, 1 infrastructure)`."""
    counts = Counter(digest.outcome for digest in digests)
    parts = [_total(digests, outcome, counts[outcome]) for outcome in Outcome if counts[outcome]]
    return f"{counted(len(digests), 'scenario')}: {', '.join(parts)}"


def _total(digests: Sequence[Digest], outcome: Outcome, count: int) -> str:
    word = counted(count, "error") if outcome is Outcome.ERROR else f"{count:,} {_WORDS[outcome]}"
    blames = Counter(
        digest.blame.value for digest in digests if digest.outcome is outcome and digest.blame is not None
    )
    if not blames:
        return word
    alone = len(blames) == 1 and sum(blames.values()) == count
    named = [blame if alone else f"{number:,} {blame}" for blame, number in blames.most_common()]
    return f"{word} ({', '.join(named)})"


def _spent(digests: Sequence[Digest]) -> list[str]:
    spent = _by_role(digests, replayed=False)
    if not spent:
        return ["spent: nothing"] if _by_role(digests, replayed=True) else []
    total = sum(spent.values(), Spending())
    roles = [f"  {ROLE_NAMES[role]}: {_tokens_and_cost(spent[role])}" for role in Role if role in spent]
    return [f"spent: {_tokens_and_cost(total)}", *(roles if len(roles) > 1 else [])]


def _replayed(digests: Sequence[Digest]) -> list[str]:
    replayed = sum(_by_role(digests, replayed=True).values(), Spending())
    return [f"replayed: {_tokens_and_cost(replayed)} when recorded"] if replayed.calls else []


def _by_role(digests: Sequence[Digest], *, replayed: bool) -> dict[Role, Spending]:
    """What each role used, of the scenarios where it was wholly replayed or of the others."""
    totals: dict[Role, Spending] = {}
    for digest in digests:
        for role, spending in digest.spending.items():
            if spending.calls and is_replayed(spending) is replayed:
                totals[role] = totals.get(role, Spending()) + spending
    return totals


def _tokens_and_cost(spending: Spending) -> str:
    partly = f", {spending.replayed:,} of them replayed" if 0 < spending.replayed < spending.calls else ""
    retried = spending.attempts - spending.calls
    retries = f", {retried:,} tried again" if retried > 0 else ""
    return (
        f"{dollars(spending.cost)}, {counted(spending.usage.total, 'token')} "
        f"in {counted(spending.calls, 'call')}{partly}{retries}"
    )


def _slowest(digests: Sequence[Digest]) -> list[str]:
    ran = [digest for digest in digests if digest.outcome is not Outcome.SKIPPED]
    slowest = sorted(ran, key=lambda digest: -digest.duration)[:_SLOWEST]
    if not slowest:
        return []
    lines = [
        f"  {digest.duration:.1f} s  {harmless(shorten(one_line(digest.name), 60))}" for digest in slowest
    ]
    return ["slowest:", *lines]
