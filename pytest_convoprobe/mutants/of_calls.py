"""Mutants of what the agent does. Its words stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..judging.transcript_view import call_line
from ..result import ScenarioResult
from ..scenario.condition_words import RANGES
from ..scenario.models import ArgumentCondition, Evaluation, Scenario, ToolAssertion, ToolUsage
from ..text import has_words
from ..tool_patterns import matches
from ..transcript import ToolCall, Transcript, Turn
from .numbers import moved, numbers_in
from .proofs import CallProof, call_proofs, is_said
from .types import ChangedTalk, MutantKind

SOMETHING_ELSE = "something else"

EditCall = Callable[[ToolCall], ToolCall | None]
"""A call as it is to be; None takes it away."""


def changes_of_calls(result: ScenarioResult, scenario: Scenario) -> Iterator[ChangedTalk]:
    """Every change of the agent's calls that a criterion or a check may notice."""
    if not result.transcript.reports_tools:
        return
    found = tuple(call_proofs(result, scenario))
    evaluation, transcript = scenario.evaluation, result.transcript
    yield from _claims_without_call(transcript, evaluation, found)
    yield from _wrong_arguments(transcript, evaluation)
    yield from _arguments_that_show(transcript, found)
    yield from _prohibited(transcript, evaluation)


def _claims_without_call(
    transcript: Transcript, evaluation: Evaluation, found: Iterable[CallProof]
) -> Iterator[ChangedTalk]:
    usage = evaluation.tool_usage
    shown = {proof.tool: proof for proof in found}
    listed = [call.tool for call in usage.expected_calls.calls] if usage.expected_calls else []
    criteria = [one.tool for one in usage.tool_call_criteria]
    patterns = dict.fromkeys([*usage.required_tools, *criteria, *listed, *shown])
    for pattern in patterns:
        first = _first(transcript, pattern)
        if first is None:
            continue
        changed = _edited(transcript, partial(_left, pattern))
        why = f"the agent did not call {pattern}"
        claims = {proof.criterion.id: why for proof in found if matches(pattern, proof.tool)}
        words = first[0].reply.text
        sentence = words if has_words(words) else f"without {call_line(first[1])}"
        yield ChangedTalk(MutantKind.CLAIM_WITHOUT_CALL, changed, claims, sentence, first[0].number)


def _left(pattern: str, call: ToolCall) -> ToolCall | None:
    """The call, unless the pattern means its tool."""
    return None if matches(pattern, call.name) else call


def _wrong_arguments(transcript: Transcript, evaluation: Evaluation) -> Iterator[ChangedTalk]:
    """The arguments that the scenario has conditions on: code says whether another value breaks them."""
    for tool, args in _conditions(evaluation.tool_usage):
        names = {name.partition(".")[0] for name in args} | set(args)
        for other in _OTHERS if _has_range(args.values()) else (_other,):
            yield from _with_others(transcript, tool, names, {}, other)


def _conditions(usage: ToolUsage) -> Iterator[tuple[str, Mapping[str, ArgumentCondition]]]:
    """The tools whose arguments the scenario has conditions on, with these."""
    for criterion in usage.tool_call_criteria:
        facts = (one for one in criterion.assertions if isinstance(one, ToolAssertion))
        yield from ((criterion.tool, one.args) for one in facts if one.args)
    expected = usage.expected_calls.calls if usage.expected_calls else ()
    yield from ((call.tool, call.args) for call in expected if call.args)


def _has_range(conditions: Iterable[ArgumentCondition]) -> bool:
    """Whether a condition, or one within it, is a range of numbers."""
    return any(
        any(getattr(one, key) is not None for key in RANGES)
        or _has_range(one.includes.values() if isinstance(one.includes, Mapping) else one.includes or ())
        for one in conditions
    )


def _arguments_that_show(transcript: Transcript, found: Iterable[CallProof]) -> Iterator[ChangedTalk]:
    """The arguments that a sentence about the tool names, or that the user named."""
    said = "\n".join(turn.user for turn in transcript.turns)
    for proof in found:
        known = f"{proof.criterion.text}\n{said}"
        calls = [call for _, call in transcript.tool_calls if call.name == proof.tool]
        names = {
            name
            for call in calls
            for name, value in call.arguments.items()
            if isinstance(value, (str, int, float)) and is_said(str(value), known)
            if is_said(str(value), proof.quote)
        }
        why = f"{proof.tool} was called with another value"
        yield from _with_others(transcript, proof.tool, names, {proof.criterion.id: why})


def _with_others(
    transcript: Transcript,
    tool: str,
    names: Iterable[str],
    claims: Mapping[str, str],
    other: Callable[[Any], Any] | None = None,
) -> Iterator[ChangedTalk]:
    wanted, another = set(names), other or _other

    def edit(call: ToolCall) -> ToolCall:
        if not matches(tool, call.name) or not wanted & set(call.arguments):
            return call
        others = {name: another(value) if name in wanted else value for name, value in call.arguments.items()}
        return replace(call, arguments=others)

    first = _first(transcript, tool)
    if first is None or edit(first[1]) == first[1]:
        return
    changed, sentence = _edited(transcript, edit), call_line(edit(first[1]))
    yield ChangedTalk(MutantKind.WRONG_ARGUMENT, changed, claims, sentence, first[0].number)


def _other(value: Any, factor: int = 1, more: int = 1) -> Any:
    """Another value of the same kind: for a number, `factor` times as much and `more`."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * factor + more
    if isinstance(value, str):
        return moved(value, numbers_in(value)) if numbers_in(value) else SOMETHING_ELSE
    if isinstance(value, Mapping):
        return {name: _other(item, factor, more) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_other(item, factor, more) for item in value]
    return SOMETHING_ELSE


# The next number may be in a range, too: one far below and one far above.
_OTHERS = (_other, partial(_other, factor=-1000, more=-1000), partial(_other, factor=1000, more=1000))


def _prohibited(transcript: Transcript, evaluation: Evaluation) -> Iterator[ChangedTalk]:
    usage = evaluation.tool_usage
    never = [
        criterion.tool
        for criterion in usage.tool_call_criteria
        for one in criterion.assertions
        if isinstance(one, ToolAssertion) and one.most_calls == 0
    ]
    unlisted = ["unlisted_tool"] if usage.only_listed else []
    for pattern in dict.fromkeys([*usage.prohibited_tools, *never, *unlisted]):
        name = _name_of(pattern)
        if name is not None:
            call = ToolCall(name, result="done")
            last = transcript.turns[-1]
            reply = replace(last.reply, tool_calls=(*(last.reply.tool_calls or ()), call))
            turns = (*transcript.turns[:-1], replace(last, reply=reply))
            changed = replace(transcript, turns=turns)
            yield ChangedTalk(MutantKind.PROHIBITED_CALL, changed, {}, call_line(call), last.number)


def _name_of(pattern: str) -> str | None:
    """A name that a pattern means."""
    name = pattern.replace("*", "x").replace("?", "x")
    while "[" in name and "]" in name.partition("[")[2]:
        before, _, rest = name.partition("[")
        choice, _, after = rest.partition("]")
        name = before + choice.lstrip("!")[:1] + after
    return name if matches(pattern, name) else None


def _first(transcript: Transcript, pattern: str) -> tuple[Turn, ToolCall] | None:
    """The turn with the first call that a pattern means, and the call."""
    for turn in transcript.turns:
        for call in turn.reply.tool_calls or ():
            if matches(pattern, call.name):
                return turn, call
    return None


def _edited(transcript: Transcript, edit: EditCall) -> Transcript:
    turns = []
    for turn in transcript.turns:
        calls = turn.reply.tool_calls
        if calls is not None:
            kept = tuple(new for new in map(edit, calls) if new is not None)
            turn = replace(turn, reply=replace(turn.reply, tool_calls=kept))
        turns.append(turn)
    return replace(transcript, turns=tuple(turns))
