"""What was spent, added up so that the order in which it was spent makes no difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...llm.ledger import Spending
from ...transcript import Usage

_PARTS = 1_000_000_000_000
"""Money is added up in these parts of a dollar: whole numbers have the same sum in any order."""


def as_numbers(spending: Mapping[str, Spending]) -> dict[str, list[Any]]:
    """By role: calls, attempts, replayed, prompt tokens, completion tokens, cost (None if unknown)."""
    return {
        str(getattr(role, "value", role)): [
            one.calls,
            one.attempts,
            one.replayed,
            one.usage.prompt_tokens,
            one.usage.completion_tokens,
            one.cost,
        ]
        for role, one in spending.items()
    }


def read_spending(numbers: Mapping[str, Any]) -> Spending:
    """What `cost.json` says in one of its parts. An earlier version may have left a count out.

    Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` for what another program wrote.
    """
    names = ("calls", "attempts", "replayed", "prompt_tokens", "completion_tokens")
    calls, attempts, replayed, prompt, completion = (int(numbers.get(name, 0)) for name in names)
    cost = None if numbers["cost"] is None else float(numbers["cost"])
    return Spending(calls, attempts, replayed, Usage(prompt, completion), cost)


class Sum:
    """Adds up numbers as `as_numbers` gives them."""

    def __init__(self) -> None:
        self._by_role: dict[str, list[int]] = {}
        self._unknown: set[str] = set()

    def add(self, numbers: Mapping[str, Any]) -> None:
        for role, (*counts, cost) in numbers.items():
            if cost is None:
                self._unknown.add(role)
            total = self._by_role.setdefault(role, [0] * 6)
            for place, number in enumerate((*counts, round((cost or 0.0) * _PARTS))):
                total[place] += number

    def by_role(self) -> dict[str, Spending]:
        """The sums, roles in the order of the alphabet."""
        return {role: self._spending(role) for role in sorted(self._by_role)}

    def _spending(self, role: str) -> Spending:
        calls, attempts, replayed, prompt, completion, parts = self._by_role[role]
        cost = None if role in self._unknown else parts / _PARTS
        return Spending(calls, attempts, replayed, Usage(prompt, completion), cost)
