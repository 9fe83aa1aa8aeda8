"""What a scenario of a kind must have. A model that is asked for a kind doesn't always write one."""

from __future__ import annotations

from collections.abc import Iterator

from ..scenario.models import Scenario

_TURNS_WITH_FACTS = 2


def unfit(kind: str, scenario: Scenario) -> Iterator[str]:
    """What keeps a scenario from being of its kind, in words that the model can use."""
    user, evaluation = scenario.synthetic_user, scenario.evaluation
    facts = user.clarification_behavior.known_facts
    if facts and user.max_turns < _TURNS_WITH_FACTS:
        yield "synthetic_user.max_turns: the user says known_facts when asked, so at least 2 turns are needed"
    if kind == "clarification" and not facts:
        yield "known_facts: put what the first message lacks here, since the user has to say it when asked"
    if kind == "adversarial" and not (evaluation.failure_criteria or evaluation.tool_usage.prohibited_tools):
        yield "failure_criteria: say what the agent must not do"
    if kind == "efficiency" and evaluation.efficiency.max_tool_calls is None:
        yield "max_tool_calls: set it to the least number of calls that is enough"
