"""A conversation as plain data of JSON, and back: a part of a stored trial.

What is out of the ordinary is left out where it has its default: so other conversations, and those of earlier
releases, look as they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..start_time import read_time
from ..transcript import (
    CallKind,
    Origin,
    PendingRequest,
    Reply,
    SaidBefore,
    Termination,
    ToolCall,
    Transcript,
    Turn,
    WireSeen,
)
from .plain_json import as_float, as_text, as_whole, number, plain
from .wire_records import read_usage, read_wire, usage_record, wire_record


def transcript_record(transcript: Transcript) -> dict[str, Any]:
    """A conversation as plain data."""
    pending_calls = [_tool_call(call) for call in transcript.pending_calls]
    pending_usage, asked = transcript.pending_usage, transcript.pending_requests
    return {
        **({"unsaid": transcript.unsaid} if transcript.unsaid else {}),
        **({"now": transcript.now.isoformat()} if transcript.now else {}),
        "termination": transcript.termination.value if transcript.termination else None,
        "pending": transcript.pending,
        **({"pending_calls": pending_calls} if pending_calls else {}),
        **({"pending_usage": usage_record(pending_usage)} if pending_usage else {}),
        **({"pending_requests": [request_record(one) for one in asked]} if asked else {}),
        **_wire("pending_wire", transcript.pending_wire),
        **({"history": list(map(_said_before, transcript.history))} if transcript.history else {}),
        "turns": [_turn(turn) for turn in transcript.turns],
    }


def _turn(turn: Turn) -> dict[str, Any]:
    reply = turn.reply
    return {
        **({"ended": True} if reply.ended else {}),
        "number": turn.number,
        "origin": turn.origin.value,
        "user": turn.user,
        "reply": reply.text,
        **({"thoughts": reply.thoughts} if reply.thoughts else {}),
        **({"cut": list(reply.cut)} if reply.cut else {}),
        "latency": number(turn.latency),
        **({"startup": number(reply.startup)} if reply.startup else {}),
        **({"requests": [request_record(one) for one in reply.pending]} if reply.pending else {}),
        "usage": usage_record(reply.usage) if reply.usage else None,
        "tool_calls": None if reply.tool_calls is None else [_tool_call(call) for call in reply.tool_calls],
        **_wire("wire", reply.wire),
    }


def _said_before(said: SaidBefore) -> dict[str, Any]:
    """In the form of scenarios."""
    calls = [_tool_call(call) for call in said.tool_calls]
    return {"agent" if said.by_agent else "user": said.text, **({"tool_calls": calls} if calls else {})}


def _read_said_before(data: Mapping[str, Any]) -> SaidBefore:
    calls = tuple(read_call(call) for call in data.get("tool_calls", ()))
    return SaidBefore(as_text(data.get("agent", data.get("user", ""))), "agent" in data, calls)


def _wire(key: str, seen: WireSeen | None) -> dict[str, Any]:
    return {} if seen is None else {key: wire_record(seen)}


def _tool_call(call: ToolCall) -> dict[str, Any]:
    unusual: dict[str, Any] = {} if call.executed else {"executed": False}
    unusual |= relations_record(call)
    unusual |= {"on_wire": True} if call.on_wire else {}
    for key, parts in (("unreported", call.unreported), ("cut", call.cut)):
        if parts:
            unusual[key] = list(parts)
    return {
        "name": call.name,
        "arguments": plain(call.arguments),
        "result": plain(call.result),
        "error": call.error,
        "latency": number(call.latency),
        **unusual,
    }


_RELATIONS = ("id", "parent", "agent", "group", "fault")


def relations_record(call: ToolCall) -> dict[str, str]:
    """What is known of a call among others, and of its fault."""
    kind = {} if call.kind is CallKind.TOOL else {"kind": call.kind.value}
    return {**{key: found for key in _RELATIONS if (found := getattr(call, key))}, **kind}


def request_record(request: PendingRequest) -> dict[str, Any]:
    """A request to a person as plain data."""
    written = {
        "text": request.text,
        "tool": request.tool,
        "arguments": plain(request.arguments),
        "choices": list(request.choices),
        "reason": request.reason,
        "after": request.after,
    }
    return {
        "id": request.id,
        "kind": request.kind,
        "answer": request.answer,
        **{key: value for key, value in written.items() if value},
    }


def read_transcript(data: Mapping[str, Any]) -> Transcript:
    """What `transcript_record` gave."""
    return Transcript(
        turns=tuple(_read_turn(turn) for turn in data.get("turns", ())),
        termination=Termination(data["termination"]) if data.get("termination") else None,
        pending=data.get("pending"),
        unsaid=as_whole(data.get("unsaid", 0)),
        now=read_time(data["now"]) if data.get("now") else None,
        pending_calls=tuple(read_call(call) for call in data.get("pending_calls", ())),
        pending_usage=read_usage(data["pending_usage"]) if data.get("pending_usage") else None,
        pending_requests=tuple(read_request(one) for one in data.get("pending_requests", ())),
        pending_wire=read_wire(data.get("pending_wire")),
        history=tuple(map(_read_said_before, data.get("history", ()))),
    )


def _read_turn(data: Mapping[str, Any]) -> Turn:
    calls, usage = data.get("tool_calls"), data.get("usage")
    reply = Reply(
        text=as_text(data.get("reply", "")),
        tool_calls=None if calls is None else tuple(read_call(call) for call in calls),
        usage=read_usage(usage) if usage else None,
        ended=bool(data.get("ended", False)),
        thoughts=as_text(data.get("thoughts", "")),
        cut=tuple(map(as_text, data.get("cut", ()))),
        pending=tuple(read_request(one) for one in data.get("requests", ())),
        startup=as_float(data.get("startup")) or 0.0,
        wire=read_wire(data.get("wire")),
    )
    origin = Origin(data.get("origin", Origin.SIMULATED.value))
    latency = as_float(data.get("latency")) or 0.0
    return Turn(as_whole(data["number"]), as_text(data["user"]), reply, origin, latency)


def read_call(data: Mapping[str, Any]) -> ToolCall:
    """A call as it is stored."""
    return ToolCall(
        name=str(data["name"]),
        arguments=data.get("arguments", {}),
        result=data.get("result"),
        error=data.get("error"),
        latency=as_float(data.get("latency")),
        executed=data.get("executed") is not False,
        unreported=tuple(map(as_text, data.get("unreported", ()))),
        cut=tuple(map(as_text, data.get("cut", ()))),
        kind=CallKind(data.get("kind", CallKind.TOOL.value)),
        on_wire=data.get("on_wire") is True,
        **{key: as_text(data[key]) for key in _RELATIONS if key in data},
    )


def read_request(data: Mapping[str, Any]) -> PendingRequest:
    """What `request_record` gave."""
    answer = data.get("answer")
    return PendingRequest(
        id=as_text(data.get("id", "")),
        kind="question" if data.get("kind") == "question" else "approval",
        text=as_text(data.get("text", "")),
        tool=as_text(data.get("tool", "")),
        arguments=data.get("arguments", {}),
        choices=tuple(map(as_text, data.get("choices", ()))),
        answer=None if answer is None else as_text(answer),
        reason=as_text(data.get("reason", "")),
        after=as_whole(data.get("after", 0)),
    )
