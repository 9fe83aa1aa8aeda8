"""What an agent did for one message, in the order and the nesting in which every report shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .transcript import CallKind, PendingRequest, Reply, ToolCall, Transcript

_DEEPEST = 6
"""Deeper calls are shown as if they were at this depth: a page has an edge."""


@dataclass(frozen=True)
class AgentStep:
    """A call, or a request to a person, and inside how many calls it happened.

    `place` is that of the call among all calls of the turn, and None for a request.
    """

    what: ToolCall | PendingRequest
    depth: int = 0
    place: int | None = None


def steps_of(reply: Reply) -> tuple[AgentStep, ...]:
    """The calls and requests of a turn. A call comes behind the one inside which it was made."""
    return _with_requests(nested(reply.tool_calls or ()), reply.pending)


def pending_steps(transcript: Transcript) -> tuple[AgentStep, ...]:
    """The same for the message that got no reply."""
    return _with_requests(nested(transcript.pending_calls), transcript.pending_requests)


def nested(calls: Sequence[ToolCall]) -> tuple[AgentStep, ...]:
    """The calls in the order in which they began, but those inside a call directly behind it."""
    parents = list(_parents(calls))
    inside: dict[int | None, list[int]] = {}
    for place, parent in enumerate(parents):
        inside.setdefault(parent, []).append(place)
    return tuple(_walked(calls, inside))


def _parents(calls: Sequence[ToolCall]) -> Iterator[int | None]:
    """The place of each call's parent. Only an earlier one can be it, so that there is no circle."""
    places: dict[str, int] = {}
    for place, call in enumerate(calls):
        yield places.get(call.parent) if call.parent else None
        if call.id:
            places[call.id] = place


def _walked(calls: Sequence[ToolCall], inside: dict[int | None, list[int]]) -> Iterator[AgentStep]:
    # Without recursion: a hostile target may nest thousands of calls.
    waiting = [(place, 0) for place in reversed(inside.get(None, ()))]
    while waiting:
        place, depth = waiting.pop()
        yield AgentStep(calls[place], min(depth, _DEEPEST), place)
        waiting += [(below, depth + 1) for below in reversed(inside.get(place, ()))]


def _with_requests(steps: Sequence[AgentStep], requests: Sequence[PendingRequest]) -> tuple[AgentStep, ...]:
    """Each request before the first call that was made after it came up."""
    left, found = list(requests), list[AgentStep]()
    for step in steps:
        while left and step.place is not None and step.place >= left[0].after:
            found.append(AgentStep(left.pop(0)))
        found.append(step)
    return (*found, *map(AgentStep, left))


def names_agents(transcript: Transcript) -> bool:
    """Whether more than one agent called, so that it has to be said which one."""
    calls = (*(call for _, call in transcript.tool_calls), *transcript.pending_calls)
    return len({call.agent for call in calls if call.agent}) > 1


def kind_word(kind: CallKind) -> str:
    """What a call is, where that has to be said."""
    return {CallKind.HANDOFF: "hand-off", CallKind.SUB_AGENT: "sub-agent"}.get(kind, "tool")


def answer_of(request: PendingRequest) -> str:
    """What a person answered, in words: `rejected: too much`, `answered: the blue one`."""
    if request.answer is None:
        return "not answered"
    word = {"approve": "approved", "reject": "rejected"}.get(request.answer) if request.is_approval else None
    said = word or f"answered: {request.answer}"
    return f"{said} ({request.reason})" if request.reason else said
