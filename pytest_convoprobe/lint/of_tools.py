"""What a scenario says about calls of tools: in sentences, in lists, and in limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..conversation.suspicion import is_english
from ..judging.types import CriterionKind
from ..scenario.models import ToolAssertion, ToolUsage
from ..tool_patterns import is_pattern, matches
from .finding import Fault
from .subject import Sentence, Subject
from .words import AGENTS, is_negated

_CALLS = re.compile(
    rf"^\s*(?:the\s+)?(?:{AGENTS})\s+(?:must\s+|should\s+)?(?:does\s+not\s+|doesn't\s+|never\s+|must\s+not\s+)?"
    r"(?:calls?|uses?|invokes?)\s+(?:the\s+)?(?:tool\s+|function\s+)?[`'\"]?(?P<tool>[\w:/-]+(?:\.[\w:/-]+)*)[`'\"]?"
    r"(?:\s+(?:tool|function))?(?:\s+(?:once|at\s+least\s+once))?\s*\.?\s*$",
    re.IGNORECASE,
)
_IS_CALLED = re.compile(
    r"^\s*(?:the\s+)?(?:tool\s+|function\s+)?[`'\"]?(?P<tool>[\w:/-]+(?:\.[\w:/-]+)*)[`'\"]?(?:\s+(?:tool|function))?"
    r"\s+(?:is|was|gets|must\s+be|should\s+be|has\s+been|isn't|must\s+not\s+be)\s+(?:never\s+|not\s+)?"
    r"(?:called|used|invoked)(?:\s+(?:once|at\s+least\s+once))?\s*\.?\s*$",
    re.IGNORECASE,
)


def named_calls(subject: Subject) -> Iterator[tuple[Sentence, str, bool]]:
    """The criteria that only say whether a tool is called: with the tool, and whether that is forbidden."""
    usage = subject.scenario.evaluation.tool_usage
    criteria = [one.tool for one in usage.tool_call_criteria]
    known = {*usage.required_tools, *usage.optional_tools, *usage.prohibited_tools, *criteria}
    for sentence in subject.sentences:
        if not is_english(sentence.text) or sentence.kind is CriterionKind.TOOL:
            continue
        found = _CALLS.match(sentence.text) or _IS_CALLED.match(sentence.text)
        if found and ("_" in found["tool"] or any(matches(name, found["tool"]) for name in known)):
            yield (
                sentence,
                found["tool"],
                (sentence.kind is CriterionKind.FAILURE) is not is_negated(sentence.text),
            )


def against(usage: ToolUsage, forbidden: bool) -> tuple[str, ...]:
    """The tools of which a check says the opposite of a sentence that forbids a call, or asks for one."""
    return usage.required_tools if forbidden else usage.prohibited_tools


def impossible_calls(subject: Subject) -> Iterator[Fault]:
    """What is said about calls and can't all be true."""
    usage = subject.scenario.evaluation.tool_usage
    for sentence, tool, forbidden in named_calls(subject):
        if any(matches(name, tool) for name in against(usage, forbidden)):
            key = "required_tools" if forbidden else "prohibited_tools"
            yield Fault(
                sentence.loc,
                f"{sentence.criterion.id} and `{key}` say the opposite about {tool}",
                "No agent can satisfy both. Take one of them out.",
            )
    yield from _numbers_of_calls(subject)
    yield from _orders(subject)
    yield from _too_few_calls(subject)


def asserted(subject: Subject) -> Iterator[tuple[tuple[str | int, ...], str, ToolAssertion]]:
    """The conditions for code: the place, the tool, and what is asserted."""
    for place, criterion in enumerate(subject.scenario.evaluation.tool_usage.tool_call_criteria):
        for index, one in enumerate(criterion.assertions):
            if isinstance(one, ToolAssertion):
                path = ("evaluation", "tool_usage", "tool_call_criteria", place, "assertions", index)
                yield path, criterion.tool, one


def _numbers_of_calls(subject: Subject) -> Iterator[Fault]:
    """A tool that is asked for more often than it is allowed."""
    least = dict.fromkeys(subject.scenario.evaluation.tool_usage.required_tools, 1)
    most: dict[str, int] = {}
    for path, tool, one in asserted(subject):
        least[tool] = max(one.least_calls, least.get(tool, 0))
        if one.most_calls is not None:
            most[tool] = min(one.most_calls, most.get(tool, one.most_calls))
        if least[tool] > most.get(tool, least[tool]):
            message = f"{tool} is to be called {least[tool]} times or more, and {most[tool]} times at most"
            yield Fault(path, message, "No agent can do both. Take one of them out.")
            return


def _orders(subject: Subject) -> Iterator[Fault]:
    """Two tools, each of which has to come before the other."""
    seen: set[tuple[str, str]] = set()
    for path, tool, one in asserted(subject):
        pairs = [(tool, one.before)] if one.before else []
        pairs += [(one.after, tool)] if one.after else []
        for first, second in pairs:
            if (second, first) in seen:
                message = f"{first} is to come before {second}, and {second} before {first}"
                yield Fault(path, message, "A conversation with both always fails. Take one of them out.")
            seen.add((first, second))


def _too_few_calls(subject: Subject) -> Iterator[Fault]:
    evaluation = subject.scenario.evaluation
    most, usage = evaluation.efficiency.max_tool_calls, evaluation.tool_usage
    if most is None:
        return
    needed = {tool: 1 for tool in usage.required_tools if not is_pattern(tool)}
    for _, tool, one in asserted(subject):
        if one.least_calls and not is_pattern(tool):
            needed[tool] = max(one.least_calls, needed.get(tool, 0))
    if sum(needed.values()) > most:
        names = ", ".join(f"{tool} {count} x" for tool, count in needed.items())
        yield Fault(
            ("evaluation", "efficiency", "max_tool_calls"),
            f"at most {most} tool calls, but the scenario asks for more: {names}",
            f"Raise the limit to {sum(needed.values())} or more.",
        )


def other_tools(subject: Subject, tool: str) -> bool:
    """Whether the scenario names a tool besides this one."""
    usage = subject.scenario.evaluation.tool_usage
    names = {*usage.required_tools, *usage.optional_tools}
    names |= {call.tool for call in usage.expected_calls.calls} if usage.expected_calls else set()
    for criterion in usage.tool_call_criteria:
        names.add(criterion.tool)
        for one in criterion.assertions:
            names |= {getattr(one, "before", None) or tool, getattr(one, "after", None) or tool}
    return any(not matches(tool, name) for name in names)
