"""Which of a conversation's faults a call gets, and which faults had no call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random

from ..formatting import counted
from .rules import FaultRule


class RulesInOrder:
    """The faults of one conversation. Of several for a call, the first one that happens counts.

    What a call gets depends on the scenario, the trial, its name and its number alone: which calls there were
    before, or are at the same time, changes nothing.
    """

    def __init__(self, rules: Iterable[FaultRule], scenario: str, trial: int) -> None:
        self._rules = tuple(rules)
        self._key = f"{scenario} {trial}"

    def of_call(self, name: str, number: int) -> tuple[tuple[int, ...], FaultRule | None]:
        """For the `number`-th call of a tool or model: the places of its rules, and the rule that counts."""
        found = [at for at, rule in enumerate(self._rules) if rule.is_for(name) and _is_for(rule, number)]
        chosen = next((at for at in found if self._happens(self._rules[at], name, number)), None)
        return tuple(found), None if chosen is None else self._rules[chosen]

    def missed(self, reached: Collection[int]) -> list[FaultRule]:
        """Those for which there should have been a call; `reached` are the places of the others."""
        # A rule that comes after another one has been reached too, although it didn't count.
        return [rule for at, rule in enumerate(self._rules) if at not in reached and not rule.optional]

    def _happens(self, rule: FaultRule, name: str, number: int) -> bool:
        if rule.chance is None:
            return True
        return Random(f"{rule.seed} {rule.kind} {self._key} {name} {number}").random() < rule.chance  # noqa: S311


def never_reached(missed: Sequence[FaultRule], made: str) -> str:
    """The sentence for faults without a call; `made` says which calls there were."""
    described = "; ".join(f"{rule.where} ({rule.words})" for rule in missed)
    return (
        f"faults: the conversation has not reached {described}; {made}. A fault that "
        "never happens tests nothing: lead the conversation there, or set `optional: true`"
    )


def numbers_of_calls(calls: Mapping[str, int]) -> str:
    """How often each tool or model was called, in words; empty if none was."""
    return ", ".join(f"`{name}` {counted(number, 'time')}" for name, number in calls.items())


def _is_for(rule: FaultRule, number: int) -> bool:
    return rule.call is None or number in rule.call
