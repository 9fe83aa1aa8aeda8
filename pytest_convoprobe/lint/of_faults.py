"""What a scenario's faults leave no conversation that could pass, and faults that never happen."""

from __future__ import annotations

from collections.abc import Iterator

from ..faults.rules import FaultRule
from ..scenario.models import ToolAssertion
from ..tool_patterns import matches
from .finding import Fault
from .subject import Subject


def impossible_faults(subject: Subject) -> Iterator[Fault]:
    """Faults that exclude what the checks ask for."""
    for index, rule in enumerate(subject.scenario.faults):
        if not rule.tool:
            continue  # the checks say nothing of the models that the agent calls
        loc = ("faults", index)
        if not rule.optional and (tool := _prohibited(subject, rule)):
            yield Fault(
                (*loc, "tool"),
                f"this fault needs a call of {rule.pattern}, and `prohibited_tools` forbids {tool}",
                "No conversation can have both. Set `optional: true`, or take one of them out.",
            )
        if _fails_always(rule) and (tool := _needed(subject, rule)):
            yield Fault(
                (*loc, "tool"),
                f"each call of {rule.pattern} fails, but the checks ask for one of {tool} that works",
                "Name the calls that fail (`call: 1`), or set `count_failed_calls: true`.",
            )


def hidden_faults(subject: Subject) -> Iterator[Fault]:
    """Faults behind another one that is in every call of the same tools, or of the same models."""
    rules = subject.scenario.faults
    for index, rule in enumerate(rules):
        if any(_is_everywhere(one) and _hides(one, rule) for one in rules[:index]):
            yield Fault(
                ("faults", index),
                f"this fault of {rule.pattern} never happens: another one before it is in every call",
                "The first fault of a call counts. Put this one first, or take it out.",
            )


def _is_everywhere(rule: FaultRule) -> bool:
    return rule.call is None and rule.chance is None


def _hides(one: FaultRule, other: FaultRule) -> bool:
    return bool(one.tool) == bool(other.tool) and _covers(one.pattern, other.pattern)


def _fails_always(rule: FaultRule) -> bool:
    return _is_everywhere(rule) and bool(rule.error)


def _covers(pattern: str, name: str) -> bool:
    """Whether each tool that `name` means is one of `pattern` too."""
    return pattern in ("*", name) or matches(pattern, name)


def _prohibited(subject: Subject, rule: FaultRule) -> str | None:
    usage = subject.scenario.evaluation.tool_usage
    return next((name for name in usage.prohibited_tools if _covers(name, rule.pattern)), None)


def _needed(subject: Subject, rule: FaultRule) -> str | None:
    """A tool of which the checks want a call that works, while each of its calls fails."""
    usage = subject.scenario.evaluation.tool_usage
    if usage.count_failed_calls:
        return None
    at_least = (one.tool for one in usage.tool_call_criteria if any(map(_wants_a_call, one.assertions)))
    return next((tool for tool in (*usage.required_tools, *at_least) if _covers(rule.pattern, tool)), None)


def _wants_a_call(assertion: object) -> bool:
    return isinstance(assertion, ToolAssertion) and assertion.least_calls > 0
