"""Rules on criteria and limits beside what code checks, and beside what the conversation can come to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..conversation.suspicion import is_english
from ..formatting import counted
from ..judging.types import CriterionKind
from ..scenario.earlier_messages import said_before
from ..scenario.models import Evaluation, ScriptedAnswer, SimulatedTurns, ToolAssertion
from ..tool_patterns import matches
from .finding import Fault
from .of_conditions import conditions_of, idle_conditions
from .of_faults import hidden_faults
from .of_tools import against, asserted, named_calls, other_tools
from .subject import Subject
from .words import PEOPLE, is_negated, words_of

_NUMBER_WORD = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
_COUNTED = r"(?:(?P<turns>turns?)|tool\s+(?P<calls>calls?))\b"
_LIMITS = (
    re.compile(
        r"\b(?:at most|no more than|not more than|within|less than|fewer than|under|up to|a maximum of)\s+"
        rf"{_NUMBER_WORD}\s+{_COUNTED}",
        re.IGNORECASE,
    ),
    re.compile(rf"\b{_NUMBER_WORD}\s+{_COUNTED}\s+(?:or\s+(?:less|fewer)|at most)\b", re.IGNORECASE),
)
_ORDINALS = dict(
    zip("first second third fourth fifth sixth seventh eighth ninth tenth".split(), range(1, 11), strict=True)
)
_TURN = re.compile(
    r"\b(?P<how>in|at|on|from|after|with)\s+(?:the\s+|its\s+|their\s+)?"
    rf"(?:turn\s+(?P<number>\d{{1,3}})\b|(?:(?P<place>\d{{1,3}})(?:st|nd|rd|th)|(?P<word>{'|'.join(_ORDINALS)}))"
    r"\s+(?:turn|reply|message|answer|response)\b)",
    re.IGNORECASE,
)
_STEM = 5
_IDENTIFIED = re.compile(
    r"\b(?:order|booking|reservation|account|invoice|ticket|customer|member|membership|case|contract|policy)"
    r"(?:[\s_](?:number|no\.?|id|code))?\s+#?(?P<value>(?=[\w-]*\d{2})[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d")


def decided_by_check(subject: Subject) -> Iterator[Fault]:
    """A judge is asked what code decides: it costs words in a call, and it can be wrong."""
    usage = subject.scenario.evaluation.tool_usage
    for sentence, tool, forbidden in named_calls(subject):
        key = "prohibited_tools" if forbidden else "required_tools"
        there = any(matches(name, tool) for name in getattr(usage, key))
        if not any(matches(name, tool) for name in against(usage, forbidden)):
            yield Fault(
                sentence.loc,
                f"{sentence.criterion.id} asks the judge what code {'decides' if there else 'can decide'}: "
                f"whether {tool} is called",
                f"Take it out: `{key}` has the tool." if there else f"Write `{key}: [{tool}]` instead.",
            )
    for sentence in subject.sentences:
        if is_english(sentence.text) and sentence.kind is not CriterionKind.TOOL:
            yield from _limited(sentence.text, sentence.loc, sentence.criterion.id)


def _limited(text: str, loc: tuple[str | int, ...], name: str) -> Iterator[Fault]:
    found = next(filter(None, (limit.search(text) for limit in _LIMITS)), None)
    if found:
        key = "max_conversation_turns" if found["turns"] else "max_tool_calls"
        yield Fault(
            loc,
            f"{name} asks the judge to count, which code does without a mistake",
            f"Write `efficiency: {{{key}: …}}` instead.",
        )


def unreachable(subject: Subject) -> Iterator[Fault]:
    """A criterion about a turn that never comes."""
    last = subject.last_turn
    for sentence in subject.sentences:
        for found in _TURN.finditer(sentence.text) if is_english(sentence.text) else ():
            turn = int(found["number"] or found["place"] or _ORDINALS[found["word"].lower()])
            if turn > last or (turn == last and found["how"].lower() == "after"):
                yield Fault(
                    sentence.loc,
                    f"{sentence.criterion.id} is about what comes {found[0].lower()}, but the "
                    f"conversation has {counted(last, 'turn')} at most",
                    "Raise `max_turns`, make the script longer, or name another turn.",
                )


def only_limits(subject: Subject) -> Iterator[Fault]:
    """Nothing is asked of the agent: it is only asked not to do something."""
    evaluation = subject.scenario.evaluation
    if not (evaluation.asks_judge or asks_for_deeds(evaluation)):
        yield Fault(
            ("evaluation",),
            "an agent that does nothing passes: all checks are limits and prohibitions",
            "Add what it must do, such as `required_tools` or a criterion.",
        )


_SAYINGS = ("contains", "matches", "equals", "in_json")


def asks_for_deeds(evaluation: Evaluation) -> bool:
    """Whether a check fails where the agent does nothing."""
    assertions = (
        one for criterion in evaluation.tool_usage.tool_call_criteria for one in criterion.assertions
    )
    says = any(getattr(check, key) is not None for check in evaluation.replies for key in _SAYINGS)
    expected = evaluation.tool_usage.expected_calls
    return (
        bool(evaluation.tool_usage.required_tools or evaluation.checks)
        or says
        or (expected is not None and expected.needs_calls)
        or any(isinstance(one, ToolAssertion) and one.least_calls for one in assertions)
    )


def no_effect(subject: Subject) -> Iterator[Fault]:
    """A limit or a list that can't make a difference."""
    evaluation = subject.scenario.evaluation
    most, usage = evaluation.efficiency.max_conversation_turns, evaluation.tool_usage
    if most is not None and most >= subject.last_turn:
        yield Fault(
            ("evaluation", "efficiency", "max_conversation_turns"),
            f"this limit can't be broken: the conversation has {counted(subject.last_turn, 'turn')} at most",
            "Lower it, raise `max_turns`, or take it out.",
        )
    if usage.optional_tools and not usage.only_listed:
        yield Fault(
            ("evaluation", "tool_usage", "optional_tools"),
            "this list changes nothing: without `only_listed: true`, every tool may be called",
            "Add `only_listed: true`, or take the list out.",
        )
    yield from _calls_that_are_bounded(subject)
    yield from hidden_faults(subject)
    yield from idle_conditions(subject)


def _calls_that_are_bounded(subject: Subject) -> Iterator[Fault]:
    evaluation = subject.scenario.evaluation
    limit, usage = evaluation.efficiency.max_tool_calls, evaluation.tool_usage
    if limit is None or not usage.only_listed:
        return
    bounds: dict[str, int] = {}
    for _, tool, one in asserted(subject):
        if one.most_calls is not None:
            bounds[tool] = min(one.most_calls, bounds.get(tool, one.most_calls))
    listed = {*usage.required_tools, *usage.optional_tools, *(one.tool for one in usage.tool_call_criteria)}
    listed |= {call.tool for call in usage.expected_calls.calls} if usage.expected_calls else set()
    if listed <= bounds.keys() and sum(bounds.values()) <= limit:
        yield Fault(
            ("evaluation", "efficiency", "max_tool_calls"),
            f"this limit can't be broken: the other checks allow {sum(bounds.values())} calls at most",
            "Lower it, or take it out.",
        )


_ASKS_FOR = re.compile(
    rf"\basks?\s+(?:(?:the|a)\s+)?(?:(?:{PEOPLE})\s+)?for\s+(?:the\s+|their\s+|his\s+|her\s+|an?\s+)?"
    r"(?P<what>(?:[a-z-]+\s+){0,2}(?:number|code|name|address|email|e-mail|id|date|birthday|pin|zip|postcode|size"
    r"|colou?r|model|reference|phone|account|city|town|country|room|seat|amount|budget|reason|serial))\b",
    re.IGNORECASE,
)


def missing_answer(subject: Subject) -> Iterator[Fault]:
    """Something that the agent must ask the user for, and of which the user has heard nothing."""
    user = subject.scenario.synthetic_user
    if user.script and not any(isinstance(item, SimulatedTurns) for item in user.script):
        return  # every answer is written already
    unknown = user.clarification_behavior.unknown_facts
    heard = {word[:_STEM] for text in (*_known_to_user(subject), *unknown) for word in words_of(text)}
    for sentence in subject.sentences:
        found = _ASKS_FOR.search(sentence.text)
        wanted = [word[:_STEM] for word in words_of(found["what"])] if found else []
        must = sentence.kind is CriterionKind.CORRECTNESS and not is_negated(sentence.text)
        if found and must and not heard.intersection(wanted):
            yield Fault(
                sentence.loc,
                f"the agent is to ask for the {found['what'].lower()}, of which the user knows nothing",
                "Put it into `known_facts`, or into `unknown_facts` if the user is to say so.",
            )


def _missing_number(subject: Subject) -> Iterator[Fault]:
    """An order number in a sentence, where the scenario names no tool that might give it to the agent."""
    known = _squashed("\n".join(_known_to_user(subject)))
    for sentence in subject.sentences:
        tool = sentence.criterion.tool or ""
        for found in () if other_tools(subject, tool) else _IDENTIFIED.finditer(sentence.text):
            if _squashed(found["value"]) not in known:
                yield Fault(
                    sentence.loc,
                    f"{sentence.criterion.id} names {found['value']}, which nobody tells the agent",
                    "Put it into `known_facts` or a message of the user, unless the agent knows it.",
                )


def missing_fact(subject: Subject) -> Iterator[Fault]:
    """An argument or an answer that only the user could name, and that isn't among the user's facts."""
    yield from missing_answer(subject)
    yield from _missing_number(subject)
    known = _squashed("\n".join(_known_to_user(subject)))
    for place, tool, condition in conditions_of(subject):
        value = condition.equals if "equals" in condition.model_fields_set else condition.contains
        # Another tool that is named may have given it to the agent.
        if _is_identifier(value) and _squashed(str(value)) not in known and not other_tools(subject, tool):
            name = ".".join(map(str, place[place.index("args") + 1 :]))
            yield Fault(
                place,
                f"{tool} is to be called with {name} = {value}: the user doesn't know it",
                "Put it into `known_facts` or a message of the user, unless the agent knows it.",
            )


def _known_to_user(subject: Subject) -> Iterator[str]:
    """All that the synthetic user knows, and may say to the agent."""
    user = subject.scenario.synthetic_user
    yield from (user.persona, user.initial_query, *user.clarification_behavior.known_facts)
    yield from (landmark.instruction for landmark in user.landmarks)
    for said in said_before(user.history):
        yield said.text
        yield from (f"{dict(call.arguments)} {call.result} {call.error}" for call in said.tool_calls)
    for item in user.script:
        yield _words_of(item)


def _words_of(item: str | SimulatedTurns | ScriptedAnswer) -> str:
    if isinstance(item, ScriptedAnswer):
        return f"{item.answer} {item.reason or ''}"
    return item if isinstance(item, str) else item.instruction or ""


def _is_identifier(value: Any) -> bool:
    """Whether it is the kind of value that nobody derives: letters with digits, or a long number."""
    text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    if not text or _DATE.search(text) or len(text) > 60:
        return False
    digits = sum(one.isdigit() for one in text)
    return digits >= 4 or (digits >= 2 and any(one.isalpha() for one in text) and " " not in text)


def _squashed(text: str) -> str:
    return "".join(one for one in text.casefold() if one.isalnum())
