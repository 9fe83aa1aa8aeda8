"""Turns and calls of tools as pages show them: texts, every one of them harmless, and no markup."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...excerpts import as_text, fitting, without_binary
from ...formatting import seconds
from ...judging.transcript_view import asked_in, call_line, last_turn
from ...steps import AgentStep, answer_of, kind_word, names_agents, pending_steps, steps_of
from ...text import one_line, shorten, visible
from ...transcript import (
    CallKind,
    Origin,
    PendingRequest,
    SaidBefore,
    ToolCall,
    Transcript,
    Turn,
    WireSeen,
    not_kept,
)
from ..wire_lines import ON_WIRE, model_lines

# A page with some megabytes in one element makes browsers stall.
LONGEST = 20_000
"""Characters of one text on the page; a longer one is cut, and the cut is marked."""

_ORIGINS = {
    Origin.INITIAL: "opening",
    Origin.SCRIPT: "scripted",
    Origin.GREETING: "the agent speaks first",
}


def shown(text: str) -> str:
    """The text with invisible characters escaped; cut where it is too long for a page."""
    return shorten(visible(text), LONGEST)


def talk(transcript: Transcript) -> list[dict[str, Any]]:
    """All turns, the one without a reply among them, as the macro `turn` of talk.html.jinja takes them."""
    named = names_agents(transcript)
    turns = [shown_turn(turn, named) for turn in transcript.turns]
    return turns if transcript.pending is None else [*turns, _pending(transcript, named)]


def before(transcript: Transcript) -> list[tuple[str, str]]:
    """What the scenario says was said before the conversation: who, and what."""
    return [pair for said in transcript.history for pair in _said_before(said)]


def _said_before(said: SaidBefore) -> Iterator[tuple[str, str]]:
    for call in said.tool_calls:
        yield "tool", shown(f"{call_line(call)}\n→ {_outcome(call)}")
    if said.text:
        yield "agent" if said.by_agent else "user", shown(fitting(said.text, LONGEST))


def shown_turn(turn: Turn, named: bool) -> dict[str, Any]:
    """With `named`, it says which agent called. `user` is None where the agent spoke first."""
    return {
        **_BLANK,
        "n": turn.number,
        "user": None if turn.is_greeting else shown(fitting(turn.user, LONGEST)),
        "calls": [_step(step, named) for step in steps_of(turn.reply)],
        "models": _models(turn.reply.wire),
        "thoughts": shown(turn.reply.thoughts),
        "reply": shown(fitting(turn.reply.text, LONGEST)) + _note(turn.reply.cut),
        "origin": _ORIGINS.get(turn.origin, ""),
        "time": seconds(turn.latency) if turn.latency else "",
    }


_BLANK = {"id": "", "origin": "", "time": "", "evidence": (), "thoughts": "", "used": "", "reply": None}


def _pending(transcript: Transcript, named: bool) -> dict[str, Any]:
    """The turn without a reply: its message, and the calls that were made for it."""
    usage = transcript.pending_usage
    return {
        **_BLANK,
        "n": last_turn(transcript),
        "user": None if transcript.awaits_greeting else shown(transcript.pending or ""),
        "calls": [_step(step, named) for step in pending_steps(transcript)],
        "models": _models(transcript.pending_wire),
        "used": f"{usage.total:,} tokens were used for it" if usage else "",
    }


def quotable(turn: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names and texts of a turn's parts. The reply comes first: most quotes are from there."""
    for part in ("reply", "user"):
        if turn[part] is not None:
            yield part, turn[part]
    for number, call in enumerate(turn["calls"]):
        yield f"args {number}", call["args"]
        yield f"result {number}", call["result"]


def _models(seen: WireSeen | None) -> list[str]:
    """Lines on the agent's own calls of models."""
    return [shown(line) for line in model_lines(seen)]


def _step(step: AgentStep, named: bool) -> dict[str, Any]:
    """A call, with what is out of the ordinary about it; or a request to a person, in the same shape."""
    if isinstance(step.what, PendingRequest):
        return _request(step.what)
    call, about = step.what, []
    if call.kind is not CallKind.TOOL:
        about.append(kind_word(call.kind))
    if named and call.agent:
        about.append(f"by {shown(one_line(call.agent))}")
    if call.on_wire:
        about.append(ON_WIRE)
    if call.fault:
        about.append(f"injected: {shown(one_line(call.fault))}")
    return {**_call(call), "depth": step.depth, "about": " · ".join(about)}


def _request(request: PendingRequest) -> dict[str, Any]:
    return {
        "id": "",
        "name": "waits for a permission" if request.is_approval else "asks",
        "args": shown(asked_in(request)),
        "result": shown(answer_of(request)),
        "failed": False,
        "time": "",
        "depth": 0,
        "about": "",
        "request": True,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": "",
        "name": shown(one_line(call.name)),
        "args": shown(_pretty(dict(call.arguments))),
        "result": shown(_outcome(call)) + _note(call.cut),
        "failed": call.failed,
        "time": seconds(call.latency) if call.latency is not None else "",
        "request": False,
    }


def _note(cut: tuple[str, ...]) -> str:
    return f"\n({not_kept(cut)})" if cut else ""


def _outcome(call: ToolCall) -> str:
    if not call.executed:
        return _pretty(f"not carried out: {call.error}" if call.error else "not carried out")
    if call.error is not None:
        return _pretty(call.error)
    if call.is_unanswered:
        return "(no result was seen)"
    return "(not reported)" if "result" in call.unreported else _pretty(call.result)


def _pretty(value: Any) -> str:
    """Data as JSON on several lines, text as it is; binary content by its type and size."""
    value = without_binary(value)
    if len(as_text(value)) > LONGEST:
        return fitting(value, LONGEST)
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return as_text(value)
