"""Calls, tokens and cost as text, and added up by role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ..formatting import counted, dollars
from ..llm.ledger import Spending
from ..llm.port import Role

ROLE_NAMES = {
    Role.TARGET: "target",
    Role.SYNTHETIC_USER: "synthetic user",
    Role.GUARD: "guard",
    Role.JUDGE: "judge",
    Role.REVIEWER: "review",
    Role.GENERATOR: "generator",
    Role.EVALUATOR: "evaluator",
}


class Spends(Protocol):
    """What has spent something: a result, or a digest of one."""

    @property
    def spending(self) -> Mapping[Role, Spending]: ...


def spending_in_words(spending: Spending) -> str:
    """`3 calls (4 attempts), 1,200 + 80 tokens, $0.0012`; replayed calls are marked."""
    usage = spending.usage
    parts = [
        counted(spending.calls, "call") + _remarks(spending),
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
            if spending.calls and is_replayed(spending) is replayed:
                totals[role] = totals.get(role, Spending()) + spending
    return {role: totals[role] for role in Role if role in totals}


def _remarks(spending: Spending) -> str:
    remarks = []
    if is_replayed(spending):
        remarks.append("replayed")
    elif spending.replayed:
        remarks.append(f"{spending.replayed:,} of them replayed")
    if spending.attempts > spending.calls:
        remarks.append(counted(spending.attempts, "attempt"))
    return f" ({', '.join(remarks)})" if remarks else ""
