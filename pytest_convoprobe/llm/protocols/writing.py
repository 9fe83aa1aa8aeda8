"""Writes answers in a protocol: an empty one, and errors."""

from __future__ import annotations

import json
from typing import Any

from .events import EVENT_STREAM
from .types import ModelProtocol

_CREATED = 1_700_000_000


def error_body(protocol: ModelProtocol, message: str, kind: str) -> bytes:
    """An error in the words of the protocol. `kind` is its type, such as `rate_limit_error`."""
    error: dict[str, Any] = {"message": message, "type": kind}
    if protocol is ModelProtocol.MESSAGES:
        return _json({"type": "error", "error": error})
    return _json({"error": {**error, "param": None, "code": kind}})


def empty_answer(protocol: ModelProtocol, *, stream: bool = False, model: str = "") -> tuple[str, bytes]:
    """A successful answer that says nothing: its content type and its body."""
    if stream and protocol in _STREAMS:
        return EVENT_STREAM, _STREAMS[protocol](model)
    return "application/json", _json(_ANSWERS[protocol](model))


def _chat(model: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": "", "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {**_chat_frame(model, "chat.completion"), "choices": [choice], "usage": _chat_usage()}


def _chat_frame(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-empty", "object": kind, "created": _CREATED, "model": model}


def _chat_usage() -> dict[str, int]:
    return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def _chat_stream(model: str) -> bytes:
    frame = _chat_frame(model, "chat.completion.chunk")
    deltas: tuple[tuple[dict[str, Any], str | None], ...] = (
        ({"role": "assistant", "content": ""}, None),
        ({}, "stop"),
    )
    choices = ({"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in deltas)
    events = [b"data: " + _json({**frame, "choices": [choice]}) for choice in choices]
    return b"\n\n".join((*events, b"data: [DONE]", b""))


def _response(model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }
    return {**_response_frame(model, "completed"), "usage": usage}


def _response_frame(model: str, status: str) -> dict[str, Any]:
    return {
        "id": "resp_empty",
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
    }


def _response_stream(model: str) -> bytes:
    begun = {"type": "response.created", "response": _response_frame(model, "in_progress")}
    return _named_events((begun, {"type": "response.completed", "response": _response(model)}))


def _message(model: str) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {
        **_message_frame(model),
        "content": [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _message_frame(model: str) -> dict[str, Any]:
    return {"id": "msg_empty", "type": "message", "role": "assistant", "model": model}


def _message_stream(model: str) -> bytes:
    begun = {**_message(model), "stop_reason": None}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    return _named_events(
        (
            {"type": "message_start", "message": begun},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 0}},
            {"type": "message_stop"},
        )
    )


def _embeddings(model: str) -> dict[str, Any]:
    return {"object": "list", "data": [], "model": model, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def _nothing(model: str) -> dict[str, Any]:
    return {}


_ANSWERS = {
    ModelProtocol.CHAT: _chat,
    ModelProtocol.RESPONSES: _response,
    ModelProtocol.MESSAGES: _message,
    ModelProtocol.EMBEDDINGS: _embeddings,
    ModelProtocol.UNKNOWN: _nothing,
}
_STREAMS = {
    ModelProtocol.CHAT: _chat_stream,
    ModelProtocol.RESPONSES: _response_stream,
    ModelProtocol.MESSAGES: _message_stream,
}


def _named_events(events: tuple[dict[str, Any], ...]) -> bytes:
    named = enumerate(events)
    lines = (_named_event({**event, **_number(event, place)}) for place, event in named)
    return b"".join(lines)


def _number(event: dict[str, Any], place: int) -> dict[str, Any]:
    return {"sequence_number": place} if event["type"].startswith("response.") else {}


def _named_event(event: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), _json(event))


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode("ascii")
