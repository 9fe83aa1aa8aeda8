"""Conditions on arguments and on replies: those that everything fulfils, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..judging.patterns import is_found
from ..scenario.models import ArgumentCondition, ReplyCheck, ToolAssertion
from ..scenario.reply_checks import texts_of
from .finding import Fault
from .subject import Subject

Place = tuple[str | int, ...]

# Whoever finds something in each of these finds something in everything.
_ANYTHING = ("", "x", " ", "\n", "Déjà vu: 0 %")


def conditions_of(subject: Subject) -> Iterator[tuple[Place, str, ArgumentCondition]]:
    """Each condition on an argument, with its place and the tool; those within others too."""
    usage = subject.scenario.evaluation.tool_usage
    section: Place = ("evaluation", "tool_usage")
    for place, criterion in enumerate(usage.tool_call_criteria):
        for index, one in enumerate(criterion.assertions):
            path = (*section, "tool_call_criteria", place, "assertions", index, "args")
            for inner, condition in within(one.args, path) if isinstance(one, ToolAssertion) else ():
                yield inner, criterion.tool, condition
    for index, call in enumerate(usage.expected_calls.calls if usage.expected_calls else ()):
        for inner, condition in within(call.args, (*section, "expected_calls", "calls", index, "args")):
            yield inner, call.tool, condition


def within(
    conditions: Mapping[str, ArgumentCondition], place: Place
) -> Iterator[tuple[Place, ArgumentCondition]]:
    """Conditions on parts, each with its place, and those within them."""
    for name, condition in conditions.items():
        yield from _with_parts(condition, (*place, name))


def _with_parts(condition: ArgumentCondition, place: Place) -> Iterator[tuple[Place, ArgumentCondition]]:
    yield place, condition
    if isinstance(condition.includes, Mapping):
        yield from within(condition.includes, place)
    for inner in condition.includes if isinstance(condition.includes, tuple) else ():
        yield from _with_parts(inner, place)


def idle_conditions(subject: Subject) -> Iterator[Fault]:
    """Patterns that are found in everything."""
    for place, pattern in _patterns(subject, "matches"):
        if _finds_all(pattern):
            yield Fault(
                place, f"/{pattern}/ is found in every text", "Say what has to be there, or take it out."
            )


def impossible_conditions(subject: Subject) -> Iterator[Fault]:
    """Patterns that must not be found and are in everything; words that are both asked for and forbidden."""
    for place, pattern in _patterns(subject, "not_matches"):
        if _finds_all(pattern):
            yield Fault(place, f"/{pattern}/ is found in every text", "No agent can keep to this. Narrow it.")
    checks = subject.scenario.evaluation.replies
    for index, check in enumerate(checks):
        for other in checks:
            for wanted, banned in _clashes(check, other):
                yield Fault(
                    ("evaluation", "replies", index, "contains"),
                    f'a reply has to contain "{wanted}", and another check forbids "{banned}" in all of them',
                    "No agent can satisfy both. Take one of them out.",
                )


def _clashes(check: ReplyCheck, other: ReplyCheck) -> Iterator[tuple[str, str]]:
    if other.turns == "all":
        for wanted in texts_of(check.contains):
            for banned in texts_of(other.not_contains):
                same = banned.casefold() in wanted.casefold() if other.ignore_case else banned in wanted
                if same:
                    yield wanted, banned


def one_case(subject: Subject) -> Iterator[Fault]:
    """Words that no reply may have, in one case only: at the beginning of a sentence they pass."""
    for index, check in enumerate(subject.scenario.evaluation.replies):
        words = [part for part in texts_of(check.not_contains) if part.islower()]
        if words and not check.ignore_case:
            yield Fault(
                ("evaluation", "replies", index, "not_contains"),
                f'"{words[0].capitalize()}" passes, since upper and lower case differ',
                "Add `ignore_case: true`, or a check of the other case.",
            )


def _patterns(subject: Subject, key: str) -> Iterator[tuple[Place, str]]:
    conditions = [(place, one) for place, _, one in conditions_of(subject)]
    for index, check in enumerate(subject.scenario.evaluation.replies):
        place = ("evaluation", "replies", index)
        if pattern := getattr(check, key):
            yield (*place, key), pattern
        conditions += within(check.in_json, (*place, "json")) if isinstance(check.in_json, dict) else ()
    yield from (((*place, key), getattr(one, key)) for place, one in conditions if getattr(one, key))


def _finds_all(pattern: str) -> bool:
    return all(is_found(pattern, text, "a text") for text in _ANYTHING)
