"""Calls, tokens and cost as text, and added up by role."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..formatting import counted, dollars
from ..llm.ledger import Spending
from ..llm.port import Role
from ..results.spent_calls import ByRole, Spends

ROLE_NAMES = {
    Role.TARGET: "target",
    Role.AGENT: "agent (seen on the wire)",
    Role.SYNTHETIC_USER: "synthetic user",
    Role.GUARD: "guard",
    Role.JUDGE: "judge",
    Role.REVIEWER: "review",
    Role.GENERATOR: "generator",
    Role.EVALUATOR: "evaluator",
}


@dataclass(frozen=True)
class WithoutResult:
    """What the calls of a run cost that belong to none of its results."""

    spending: ByRole


def spending_in_words(spending: Spending) -> str:
    """`3 calls (4 attempts), 1,200 + 80 tokens, $0.0012`, or `nothing`; replayed calls are marked."""
    if not (spending.calls or spending.is_agents_own):
        return "nothing"
    usage = spending.usage
    calls = "its own calls" if spending.is_agents_own else counted(spending.calls, "call")
    parts = [
        calls + _remarks(spending),
        f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens",
        dollars(spending.cost),
    ]
    if is_replayed(spending):
        return ", ".join(parts) + " when recorded, nothing now"
    return ", ".join(parts)


def is_replayed(spending: Spending) -> bool:
    """Whether a recording answered every call, so that nothing was spent."""
    return spending.calls > 0 and spending.replayed == spending.calls


def by_roles(spenders: Iterable[Spends], *, replayed: bool) -> dict[Role, Spending]:
    """What each role used, of the scenarios where it was wholly replayed or of the others."""
    totals: dict[Role, Spending] = {}
    for one in spenders:
        for role, spending in one.spending.items():
            used = spending.calls or spending.is_agents_own
            if used and is_replayed(spending) is replayed:
                totals[role] = totals.get(role, Spending()) + spending
    return {role: totals[role] for role in Role if role in totals}


def without_agent(spenders: Iterable[Spends]) -> str:
    """What a total says of the agents whose tokens or price are not in it; empty where all is.

    A total that looks whole, and lacks the most expensive part, is worse than none.
    """
    ran = [one for one in spenders if one.spending]
    own = [one.spending[Role.TARGET] for one in ran if Role.TARGET in one.spending]
    silent = sum(not {Role.TARGET, Role.AGENT} & set(one.spending) for one in ran)
    if silent:
        some = f" in {silent:,} of {len(ran):,} conversations" if silent < len(ran) else ""
        return f"without the agent{some}"
    tokens = sum(one.usage.total for one in own if one.is_agents_own)
    return f"agent: {counted(tokens, 'token')} of its own, price unknown" if tokens else ""


def _remarks(spending: Spending) -> str:
    remarks = []
    if is_replayed(spending):
        remarks.append("replayed")
    elif spending.replayed:
        remarks.append(f"{spending.replayed:,} of them replayed")
    if spending.attempts > spending.calls:
        remarks.append(counted(spending.attempts, "attempt"))
    return f" ({', '.join(remarks)})" if remarks else ""
