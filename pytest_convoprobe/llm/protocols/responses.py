"""The Responses protocol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..port import ToolRequest
from .content import content_text, content_texts, tool_output, tool_request
from .counts import responses_counts
from .events import WireEvent
from .failing import error_in
from .shapes import listing, mapping, mappings, text_of
from .types import AnswerError, ModelAnswer, ModelProtocol, ModelRequest, WireMessage

_OWN = frozenset({"model", "input", "instructions", "tools", "stream", "previous_response_id", "text"})
_CALLS = frozenset({"function_call", "custom_tool_call", "mcp_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def read_request(data: dict[str, Any]) -> ModelRequest:
    """The request in a body. The instructions are its first message."""
    messages = (*_instructions(data.get("instructions")), *_input(data.get("input")))
    wanted = mapping(data.get("text"))
    shape = mapping(wanted.get("format"))
    schema = shape if shape.get("type") == "json_schema" else None
    rest = {name: value for name, value in wanted.items() if name != "format" or schema is None}
    parameters = {name: value for name, value in data.items() if name not in _OWN}
    return ModelRequest(
        ModelProtocol.RESPONSES,
        text_of(data.get("model")),
        messages,
        tuple(listing(data.get("tools"))),
        {**parameters, **({"text": rest} if rest else {})},
        schema,
        data.get("stream") is True,
        text_of(data.get("previous_response_id")),
        tuple(text for message in messages for text in _texts(message)),
    )


def _instructions(value: Any) -> tuple[WireMessage, ...]:
    if isinstance(value, list):
        return tuple(map(_item, mappings(value, most=100_000)))
    return (_message("system", value),) if text_of(value) else ()


def _input(value: Any) -> tuple[WireMessage, ...]:
    if isinstance(value, str):
        return (_message("user", value),)
    items = ({"role": "user", "content": item} if isinstance(item, str) else item for item in listing(value))
    return tuple(_item(item) for item in items if isinstance(item, dict))


def _message(role: str, content: Any) -> WireMessage:
    return WireMessage(role, content_text(content), data={"role": role, "content": content})


def _item(item: dict[str, Any]) -> WireMessage:
    kind = text_of(item.get("type"))
    if kind in _CALLS:
        return WireMessage("assistant", tool_requests=(_call(item),), data=item)
    if kind in _OUTPUTS:
        output = tool_output(item.get("call_id"), item.get("output"))
        return WireMessage("tool", output.text, tool_results=(output,), data=item)
    role = text_of(item.get("role")) or ("assistant" if kind else "user")
    return WireMessage(role, content_text(item.get("content")), data=item)


def _texts(message: WireMessage) -> tuple[str, ...]:
    data = mapping(message.data)
    parts = (*content_texts(data.get("content")), *content_texts(data.get("output")))
    return tuple(text for text in parts if text)


def _call(item: dict[str, Any]) -> ToolRequest:
    said = item.get("arguments", item.get("input"))
    return tool_request(item.get("call_id") or item.get("id"), item.get("name"), said)


def read_answer(data: dict[str, Any]) -> ModelAnswer:
    """The answer in a body, or in the last event of a stream."""
    items = mappings(data.get("output"))
    parts = [part for item in items for part in mappings(item.get("content"))]
    summaries = [content_text(item.get("summary")) for item in items if item.get("type") == "reasoning"]
    refusal = "".join(text_of(part.get("refusal")) for part in parts)
    text = "\n".join(content_text(item.get("content")) for item in items if item.get("type") == "message")
    status = text_of(data.get("status"))
    return ModelAnswer(
        text,
        tuple(_call(item) for item in items if item.get("type") in _CALLS),
        responses_counts(data.get("usage")),
        _finish(data, status),
        text_of(data.get("model")),
        error_in(data),
        text_of(data.get("id")),
        "\n".join(filter(None, summaries)),
        refusal,
        # Also of one that is made in the background: it is only begun, and the client asks for it later.
        isinstance(data.get("output"), list),
    )


def _finish(data: dict[str, Any], status: str) -> str:
    return text_of(mapping(data.get("incomplete_details")).get("reason")) or status


def read_stream(events: Iterable[WireEvent]) -> ModelAnswer:
    """The answer in a stream: what its last event has, or what came before a stream broke off."""
    begun: dict[str, Any] = {}
    items: list[dict[str, Any]] = []
    texts: list[str] = []
    for event in events:
        kind = text_of(event.data.get("type")) or event.name
        if kind in _ENDS:
            return _whole(mapping(event.data.get("response")), items, kind)
        if kind == "error":
            return ModelAnswer("".join(texts), error=_error(event.data), complete=True)
        if kind == "response.created":
            begun = mapping(event.data.get("response"))
        elif kind == "response.output_item.done":
            items.append(mapping(event.data.get("item")))
            texts.clear()
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            texts.append(text_of(event.data.get("delta")))
    unfinished = [{"type": "message", "content": "".join(texts)}] if texts else []
    broken = read_answer({**begun, "output": [*items, *unfinished]})
    return replace(broken, finish_reason="", complete=False)


def _whole(response: dict[str, Any], items: list[dict[str, Any]], kind: str) -> ModelAnswer:
    """Some servers leave the output out of the last event, as it was sent before."""
    output = listing(response.get("output")) or items
    return read_answer({"status": kind.rpartition(".")[2], **response, "output": output})


def _error(data: dict[str, Any]) -> AnswerError:
    """The error of an event: in itself, or under `error`."""
    code = text_of(data.get("code"))
    return error_in(data) or AnswerError(
        text_of(data.get("message")) or "an error without a message", "", code
    )
