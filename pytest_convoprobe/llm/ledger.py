"""Who spent what: calls, attempts, tokens and money of one scenario, by role."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..transcript import Usage
from .port import LLMReply, Role


@dataclass(frozen=True)
class Spending:
    """What one role used.

    `attempts` includes failed ones. `cost` is in US dollars, and None if the price of a call is
    unknown. `replayed` is the number of calls that a recording answered; their tokens and cost are
    those of the recording.
    """

    calls: int = 0
    attempts: int = 0
    replayed: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0

    def __add__(self, other: Spending) -> Spending:
        known = self.cost is not None and other.cost is not None
        return Spending(
            self.calls + other.calls,
            self.attempts + other.attempts,
            self.replayed + other.replayed,
            self.usage + other.usage,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )


class Ledger:
    """Adds up the spending of one scenario."""

    def __init__(self) -> None:
        self._by_role: dict[Role, Spending] = {}

    def record(self, role: Role, reply: LLMReply) -> None:
        """A call that was answered."""
        self._add(role, Spending(1, reply.attempts, int(reply.replayed), reply.usage, reply.cost))

    def record_failure(self, role: Role, attempts: int, cost: float | None) -> None:
        """A call that failed for good after so many attempts, and what they cost (None: unknown)."""
        self._add(role, Spending(1, attempts, cost=cost))

    @property
    def by_role(self) -> dict[Role, Spending]:
        return dict(self._by_role)

    def _add(self, role: Role, spending: Spending) -> None:
        self._by_role[role] = self._by_role.get(role, Spending()) + spending
