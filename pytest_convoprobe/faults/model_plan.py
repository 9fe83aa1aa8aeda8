"""The faults of one conversation in the calls that its agent makes to models: which call gets which.

A call is known by the model's name, as the agent asks for it, and its number. An attempt that is repeated is
another call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..errors import ScenarioError
from .choosing import RulesInOrder, never_reached, numbers_of_calls
from .rules import FaultRule, of_models


class ModelFaultPlan:
    """Says which faults the model calls of one conversation get."""

    def __init__(self, rules: Iterable[FaultRule], scenario: str, trial: int) -> None:
        self._rules = RulesInOrder(rules, scenario, trial)
        self._calls: Counter[str] = Counter()
        self._reached: set[int] = set()

    def next_call(self, model: str) -> FaultRule | None:
        """The fault of the next call of this model; None if it has none."""
        self._calls[model] += 1
        found, rule = self._rules.of_call(model, self._calls[model])
        self._reached.update(found)
        return rule

    def require_reached(self) -> None:
        """Raise `ScenarioError` if there was no call for one of the faults: nothing was tested then."""
        if missed := self._rules.missed(self._reached):
            made = numbers_of_calls(self._calls) or "no model through `target.models`"
            raise ScenarioError(never_reached(missed, f"the agent called {made}"))


def refuse_faults_of_models(rules: Iterable[FaultRule]) -> None:
    """Raise `ScenarioError` for faults of models, where the calls of the agent to them are out of reach."""
    for rule in of_models(rules):
        raise ScenarioError(out_of_reach(rule))


def out_of_reach(rule: FaultRule) -> str:
    """The sentence for a fault of a model, where the target has no `models`."""
    return (
        f"faults: no faults can be injected into calls of the model `{rule.model}`, since the target has "
        "no `models`. Set `target.models` to the addresses of the providers that the agent calls: then "
        "its calls go through the gateway"
    )
