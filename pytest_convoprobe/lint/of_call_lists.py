"""What `expected_calls` asks for, beside what other checks say about the same calls."""

from __future__ import annotations

from collections.abc import Iterator

from ..formatting import counted
from ..scenario.call_lists import ExpectedCalls
from ..tool_patterns import is_pattern, matches
from .finding import Fault
from .of_tools import asserted
from .subject import Subject

_LIST = ("evaluation", "tool_usage", "expected_calls")
_ADVICE = "No agent can satisfy both. Change one of them."


def impossible_lists(subject: Subject) -> Iterator[Fault]:
    """A list of calls that other checks rule out."""
    expected = subject.scenario.evaluation.tool_usage.expected_calls
    if expected is not None:
        yield from _above_the_limit(subject, expected)
        yield from _missing_in_list(subject, expected)
        yield from _too_often_in_list(subject, expected)
        yield from _in_another_order(subject, expected)


def _above_the_limit(subject: Subject, expected: ExpectedCalls) -> Iterator[Fault]:
    limit, needed = subject.scenario.evaluation.efficiency.max_tool_calls, len(expected.calls)
    if limit is not None and expected.needs_calls and needed > limit:
        message = f"at most {counted(limit, 'tool call')}, but `expected_calls` has {needed}"
        yield Fault(
            ("evaluation", "efficiency", "max_tool_calls"), message, f"Raise the limit to {needed} or more."
        )


def _missing_in_list(subject: Subject, expected: ExpectedCalls) -> Iterator[Fault]:
    """A tool that is asked for more often than a list allows that has all calls."""
    if expected.order in ("in_order", "superset"):
        return
    least = dict.fromkeys(subject.scenario.evaluation.tool_usage.required_tools, 1)
    for _, tool, one in asserted(subject):
        least[tool] = max(one.least_calls, least.get(tool, 0))
    for tool, count in least.items():
        listed = sum(is_pattern(call.tool) or matches(tool, call.tool) for call in expected.calls)
        if count > listed:
            message = (
                f"{tool} is to be called {counted(count, 'time')} or more, and the list has it {listed} x"
            )
            yield Fault((*_LIST, "calls"), message, _ADVICE)


def _too_often_in_list(subject: Subject, expected: ExpectedCalls) -> Iterator[Fault]:
    """A tool that the list has more often than it may be called."""
    for path, tool, one in asserted(subject):
        listed = sum(matches(tool, call.tool) for call in expected.calls)
        if expected.needs_calls and one.most_calls is not None and listed > one.most_calls:
            allowed = counted(one.most_calls, "time")
            message = f"{tool} is to be called {allowed} at most, and `expected_calls` has it {listed} x"
            yield Fault(path, message, _ADVICE)


def _in_another_order(subject: Subject, expected: ExpectedCalls) -> Iterator[Fault]:
    """Two tools in the order of the list, and in the other one by `before` or `after`."""
    names = [call.tool for call in expected.calls]
    if expected.order != "strict" or any(map(is_pattern, names)):
        return
    for path, tool, one in asserted(subject):
        for first, second in ((tool, one.before), (one.after, tool)):
            wanted = first in names and second in names
            if wanted and names.index(first or "") > names.index(second or ""):
                message = f"{first} is to come before {second}, and after it in `expected_calls`"
                yield Fault(path, message, _ADVICE)
