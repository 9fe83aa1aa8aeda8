"""Who spent what: calls, attempts, tokens and money of one scenario, by role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..transcript import Usage
from .budget import Spent
from .port import LLMReply, Role


@dataclass(frozen=True)
class Spending:
    """What one role used.

    `attempts` includes failed ones. `cost` is in US dollars, and None if the price of a call is
    unknown. `replayed` is the number of calls that a recording answered; their tokens and cost are
    those of the recording. Tokens without any call are those that an agent reports of calls of its own; their
    cost is None, and a sum leaves it out.
    """

    calls: int = 0
    attempts: int = 0
    replayed: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0

    @property
    def is_agents_own(self) -> bool:
        """Whether an agent reported these tokens, so that no call of ours was made for them."""
        return self.calls == 0 and self.usage.total > 0

    def __add__(self, other: Spending) -> Spending:
        both = (self, other)
        known = all(one.cost is not None or one.is_agents_own for one in both)
        added = Spending(
            self.calls + other.calls,
            self.attempts + other.attempts,
            self.replayed + other.replayed,
            self.usage + other.usage,
            sum(one.cost or 0.0 for one in both) if known else None,
        )
        return replace(added, cost=None) if added.is_agents_own else added


OnEntry = Callable[[Role, Spending], None]
OnSent = Callable[[Role, Spent], None]


class Ledger:
    """Adds up the spending of one scenario.

    `on_entry` gets each entry as it is made, `on_sent` each attempt that is sent, with an estimate.
    """

    def __init__(self, on_entry: OnEntry | None = None, on_sent: OnSent | None = None) -> None:
        self._by_role: dict[Role, Spending] = {}
        self._on_entry = on_entry
        self._on_sent = on_sent

    def record_sent(self, role: Role, guess: Spent) -> None:
        """An attempt is on its way, and may use this. It becomes part of the spending when its call ends."""
        if self._on_sent is not None:
            self._on_sent(role, guess)

    def record(self, role: Role, reply: LLMReply) -> None:
        """A call that was answered."""
        self._add(role, Spending(1, reply.attempts, int(reply.replayed), reply.usage, reply.cost))

    def record_failure(self, role: Role, attempts: int, cost: float | None) -> None:
        """A call that failed for good, or was given up, after so many attempts; what they cost, if known."""
        self._add(role, Spending(1, attempts, cost=cost))

    def record_agents_own(self, usage: Usage) -> bool:
        """Tokens that the target reports; whether it used them in calls of its own, and not in ours."""
        spent = self._by_role.get(Role.TARGET, Spending())
        if spent.calls or not usage.total:
            return False
        self._add(Role.TARGET, Spending(usage=usage, cost=None))
        return True

    def record_agents_call(self, spent: Spending) -> None:
        """A call that the target made itself, as the gateway saw it."""
        self._add(Role.AGENT, spent)

    @property
    def by_role(self) -> dict[Role, Spending]:
        return dict(self._by_role)

    @property
    def replays_agent(self) -> bool:
        """Whether a recording has answered a call of the target's model."""
        return replays_agent(self._by_role)

    def _add(self, role: Role, spending: Spending) -> None:
        self._by_role[role] = self._by_role.get(role, Spending()) + spending
        if self._on_entry is not None:
            self._on_entry(role, spending)


def replays_agent(spending: Mapping[Role, Spending]) -> bool:
    """Whether a recording has answered a call of the target's model, by what was spent."""
    return any(spending[role].replayed for role in (Role.TARGET, Role.AGENT) if role in spending)
