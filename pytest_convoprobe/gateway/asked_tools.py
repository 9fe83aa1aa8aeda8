"""The calls of tools that models asked an agent for, each with the result that a later request has for it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..cutting import cut_text
from ..llm.port import ToolRequest
from ..llm.protocols import ToolOutput
from ..targets.plain_values import clean_text
from ..targets.reply_parts import Cuts, as_tool_call
from ..transcript import CallKind, ToolCall
from .call_reading import ReadCall

NO_NAME = "(without a name)"
# Shorter texts, such as a name of a city, are in many requests.
_TELLING = 8


@dataclass(frozen=True)
class ToolOnWire:
    """A call of a tool, by the place of the answer that asks for it.

    `answered` is the place of the first request that has its result; None if there is none.
    """

    place: int
    turn: int
    call: ToolCall
    answered: int | None = None


def asked_tools(calls: Sequence[ReadCall], taken: frozenset[int]) -> tuple[ToolOnWire, ...]:
    """The calls of tools in the order in which the models asked for them.

    Only the answers at the places `taken` count: those that the agent took up.
    """
    found = [tool for call in calls if call.place in taken for tool in _asked_in(call, calls)]
    return tuple(_with_parents(found, {call.place: call for call in calls}))


def taken_up(calls: Sequence[ReadCall]) -> frozenset[int]:
    """The places of the answers that ask for tools and that the agent took up, as far as one can tell.

    Of the answers to a request that it sent again, those are left out that it threw away.
    """
    asking: dict[tuple[int, str], list[ReadCall]] = {}
    for call in calls:
        if call.asked_tools:
            asking.setdefault((call.turn, call.key), []).append(call)
    return frozenset(one.place for equal in asking.values() for one in _taken(equal, calls))


def _taken(equal: Sequence[ReadCall], calls: Sequence[ReadCall]) -> Sequence[ReadCall]:
    """Which of the answers to equal requests count: those whose calls come back later, else the last one."""
    if len(equal) == 1 and equal[0].worked:
        return equal
    known = [call for call in equal if _comes_back(call, calls)]
    if len({tuple(one.id for one in call.asked_tools) for call in known}) > 1:
        return known
    # Equal ids come of a server that gives the same answer twice: once it was thrown away.
    last = known[-1] if known else equal[-1]
    # One that was cut off counts only if the agent went on with it.
    return [last] if known or last.worked else []


def _comes_back(call: ReadCall, calls: Sequence[ReadCall]) -> bool:
    later = calls[_after(call, calls) :]
    return any(other.mentions(one.id) for one in call.asked_tools for other in later)


def _after(call: ReadCall, calls: Sequence[ReadCall]) -> int:
    return bisect_right(calls, call.place, key=lambda one: one.place)


def _asked_in(call: ReadCall, calls: Sequence[ReadCall]) -> Iterator[ToolOnWire]:
    """The calls that one answer asks for. Several together share a group."""
    later, before = calls[_after(call, calls) :], Counter[str]()
    group = f"wire {call.place + 1}" if len(call.asked_tools) > 1 else ""
    for asked in call.asked_tools:
        made = _read(asked)
        place, output = _result_of(asked, before[asked.id], call, later)
        before[asked.id] += 1
        if output is not None:
            made = _answered(made, output)
        yield ToolOnWire(call.place, call.turn, replace(made, on_wire=True, group=group), place)


def _read(asked: ToolRequest) -> ToolCall:
    return as_tool_call({"id": asked.id, "name": asked.name or NO_NAME, "arguments": asked.arguments})


def _answered(call: ToolCall, output: ToolOutput) -> ToolCall:
    part, cuts = "error" if output.is_error else "result", Cuts()
    text = cuts.of(part, lambda: cut_text(clean_text(output.text)))
    result, error = (None, text) if output.is_error else (text, None)
    return replace(call, result=result, error=error, executed=True, unreported=(), cut=cuts.found(call.cut))


def _result_of(
    asked: ToolRequest, earlier: int, call: ReadCall, later: Sequence[ReadCall]
) -> tuple[int | None, ToolOutput | None]:
    """The result in the first later request that has it, and the place of that.

    `earlier` calls of the same answer have the same id. Some models give the same ids again and again: what
    the request before had under the id belongs to older calls.
    """
    response = call.answer.response_id if call.answer else ""
    for other in later:
        names = other.names.get(asked.id)
        if names and asked.name not in names:
            continue  # another agent's conversation, with ids of its own
        goes_on = bool(response) and other.request.previous_id == response
        older = 0 if goes_on else len(call.results.get(asked.id, ()))
        results = other.results.get(asked.id, ())
        if len(results) > older + earlier:
            return other.place, results[older + earlier]
    return None, None


def _with_parents(found: Sequence[ToolOnWire], calls: Mapping[int, ReadCall]) -> Iterator[ToolOnWire]:
    """What another agent asked for, inside a call, knows that call; and the call, that it is an agent."""
    parents = {place: _parent(calls[place], found) for place in {one.place for one in found}}
    agents = {id(one) for one in parents.values()}
    for one in found:
        parent = parents[one.place]
        kind = CallKind.SUB_AGENT if id(one) in agents else one.call.kind
        yield replace(one, call=replace(one.call, kind=kind, parent=parent.call.id if parent else ""))


def _parent(call: ReadCall, found: Sequence[ToolOnWire]) -> ToolOnWire | None:
    """The call inside which another agent asked: it waits for its result, and its input is asked about."""
    waiting = (
        one
        for one in reversed(found)
        if one.turn == call.turn
        and one.place < call.place
        and one.call.id
        and (one.answered is None or one.answered > call.place)
        and not call.mentions(one.call.id)
    )
    return next((one for one in waiting if _is_about(call, one.call.arguments)), None)


def _is_about(call: ReadCall, arguments: Mapping[str, Any]) -> bool:
    inputs = [one for one in arguments.values() if isinstance(one, str) and len(one) >= _TELLING]
    return any(one in text for one in inputs for text in call.request.texts)
