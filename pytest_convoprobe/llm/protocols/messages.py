"""Anthropic's Messages protocol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..port import ToolRequest
from .content import content_text, content_texts, tool_output, tool_request
from .counts import messages_counts
from .events import WireEvent
from .failing import error_in
from .shapes import listing, mapping, mappings, text_of
from .types import AnswerError, ModelAnswer, ModelProtocol, ModelRequest, ToolOutput, WireMessage

_OWN = frozenset({"model", "messages", "system", "tools", "stream", "output_format", "output_config"})
_CALLS = frozenset({"tool_use", "mcp_tool_use"})
_RESULTS = frozenset({"tool_result", "mcp_tool_result"})


def read_request(data: dict[str, Any]) -> ModelRequest:
    """The request in a body. The system prompt is its first message."""
    system = data.get("system")
    first = ({"role": "system", "content": system},) if system else ()
    messages = tuple(map(_message, (*first, *mappings(data.get("messages"), most=100_000))))
    config = mapping(data.get("output_config"))
    schema = data.get("output_format") or config.get("format")
    rest = {name: value for name, value in config.items() if name != "format"}
    parameters = {name: value for name, value in data.items() if name not in _OWN}
    return ModelRequest(
        ModelProtocol.MESSAGES,
        text_of(data.get("model")),
        messages,
        tuple(listing(data.get("tools"))),
        {**parameters, **({"output_config": rest} if rest else {})},
        schema or None,
        data.get("stream") is True,
        texts=tuple(text for message in messages for text in _texts(message)),
    )


def _message(data: dict[str, Any]) -> WireMessage:
    content = data.get("content")
    blocks = mappings(content)
    asked = tuple(_call(block) for block in blocks if block.get("type") in _CALLS)
    results = tuple(_result(block) for block in blocks if block.get("type") in _RESULTS)
    return WireMessage(text_of(data.get("role")), content_text(content), asked, results, data)


def _texts(message: WireMessage) -> tuple[str, ...]:
    texts = content_texts(mapping(message.data).get("content"))
    return tuple(text for text in (*texts, *(result.text for result in message.tool_results)) if text)


def _call(block: dict[str, Any]) -> ToolRequest:
    return tool_request(block.get("id"), block.get("name"), block.get("input"))


def _result(block: dict[str, Any]) -> ToolOutput:
    failed = block.get("is_error") is True
    return tool_output(block.get("tool_use_id"), block.get("content"), is_error=failed)


def read_answer(data: dict[str, Any]) -> ModelAnswer:
    """The answer in a body."""
    blocks = mappings(data.get("content"))
    reason = text_of(data.get("stop_reason"))
    text = "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    return ModelAnswer(
        text,
        tuple(_call(block) for block in blocks if block.get("type") in _CALLS),
        messages_counts(data.get("usage")),
        reason,
        text_of(data.get("model")),
        error_in(data),
        text_of(data.get("id")),
        "".join(text_of(block.get("thinking")) for block in blocks if block.get("type") == "thinking"),
        text if reason == "refusal" else "",
        isinstance(data.get("content"), list),
    )


class _Blocks:
    """The blocks of a message as its events build them."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._parts: dict[tuple[int, str], list[str]] = {}

    def begin(self, index: Any, block: dict[str, Any]) -> None:
        if isinstance(index, int):
            self._blocks[index] = block
            self._add(index, "text", block.get("text"))
            self._add(index, "thinking", block.get("thinking"))

    def add(self, index: Any, delta: dict[str, Any]) -> None:
        if isinstance(index, int) and index in self._blocks:
            self._add(index, "text", delta.get("text"))
            self._add(index, "thinking", delta.get("thinking"))
            self._add(index, "input", delta.get("partial_json"))

    def _add(self, index: int, name: str, piece: Any) -> None:
        if text_of(piece):
            self._parts.setdefault((index, name), []).append(piece)

    def whole(self) -> list[dict[str, Any]]:
        found = {index: dict(block) for index, block in self._blocks.items()}
        for (index, name), pieces in self._parts.items():
            # Arguments stay the text that the model wrote: it may not be whole JSON.
            found[index][name] = "".join(pieces)
        return [found[index] for index in sorted(found)]


def read_stream(events: Iterable[WireEvent]) -> ModelAnswer:
    """The answer in a stream. It is complete once its reason to end, or its last event, has come."""
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks, error, complete = _Blocks(), None, False
    for event in events:
        data, kind = event.data, text_of(event.data.get("type")) or event.name
        if kind == "message_start":
            message = dict(mapping(data.get("message")))
            usage = dict(mapping(message.get("usage")))
        elif kind == "content_block_start":
            blocks.begin(data.get("index"), mapping(data.get("content_block")))
        elif kind == "content_block_delta":
            blocks.add(data.get("index"), mapping(data.get("delta")))
        elif kind == "message_delta":
            message.update(mapping(data.get("delta")))
            usage.update(_counted(data.get("usage")))
            complete = bool(message.get("stop_reason"))
        elif kind == "message_stop":
            complete = True
        elif kind == "error":
            error = error_in(data) or AnswerError("an error without a message")
    answer = read_answer({**message, "content": blocks.whole(), "usage": usage})
    return replace(answer, error=error, complete=complete or error is not None)


def _counted(usage: Any) -> dict[str, Any]:
    """The counts of a later event that it has: they are those of the whole message."""
    return {name: value for name, value in mapping(usage).items() if value is not None}
