"""What was said before a conversation, in the chat format that most agents and services know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..llm.port import Message, ToolRequest
from ..transcript import SaidBefore, ToolCall


def as_chat(history: Sequence[SaidBefore]) -> list[dict[str, Any]]:
    """Messages with `role` and `content`; calls of tools as `tool_calls`, results with the role `tool`."""
    return [message for said in history for message in _chat(said)]


def as_messages(history: Sequence[SaidBefore]) -> list[Message]:
    """The same for our port to models."""
    return [message for said in history for message in _messages(said)]


def result_text(call: ToolCall) -> str:
    """A tool's result or error as a model reads it."""
    if call.error is not None:
        return f"Error: {call.error}"
    return call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)


def _chat(said: SaidBefore) -> Iterator[dict[str, Any]]:
    if said.tool_calls:
        yield {"role": "assistant", "content": "", "tool_calls": list(map(_chat_call, said.tool_calls))}
    for call in said.tool_calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": result_text(call)}
    if said.text:
        yield {"role": _role(said), "content": said.text}


def _chat_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _arguments(call)}
    return {"id": call.id, "type": "function", "function": function}


def _messages(said: SaidBefore) -> Iterator[Message]:
    if said.tool_calls:
        asked = tuple(ToolRequest(call.id, call.name, _arguments(call)) for call in said.tool_calls)
        yield Message("assistant", "", asked)
    for call in said.tool_calls:
        yield Message("tool", result_text(call), tool_call_id=call.id)
    if said.text:
        yield Message(_role(said), said.text)


def _role(said: SaidBefore) -> Any:
    return "assistant" if said.by_agent else "user"


def _arguments(call: ToolCall) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False)
