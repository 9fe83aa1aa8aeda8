"""Calls of an agent as a gateway keeps them, in the words of their protocols, for tests of what they show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_convoprobe.gateway.exchange import Answered, Asked, WireCall

JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}
TOOLS: tuple[Any, ...] = ({"type": "function", "function": {"name": "lookup", "parameters": {}}},)
Asks = Sequence[tuple[str, str, dict[str, Any]]]
"""Calls of tools: id, name, arguments."""


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def asking(*asks: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """A model's message of the chat protocol that asks for tools."""
    calls = [
        {"id": one, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for one, name, arguments in asks
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(identifier: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": text}


def asked(*messages: dict[str, Any], tools: Sequence[Any] = TOOLS, **more: Any) -> Asked:
    body = {
        "model": "gpt-4o",
        "messages": list(messages),
        **({"tools": list(tools)} if tools else {}),
        **more,
    }
    return Asked("POST", "v1/chat/completions", json.dumps(body).encode())


def answered(message: dict[str, Any] | str, *, tokens: tuple[int, int] | None = (100, 20)) -> Answered:
    said_by_model = said("assistant", message) if isinstance(message, str) else message
    data: dict[str, Any] = {"id": "r", "model": "gpt-4o-2024-08-06"}
    data["choices"] = [{"index": 0, "message": said_by_model, "finish_reason": "stop"}]
    if tokens is not None:
        data["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return Answered(200, json.dumps(data).encode(), JSON)


def refused(status: int, message: str = "busy", code: str = "") -> Answered:
    error = {"message": message, "type": "api_error", "code": code}
    return Answered(status, json.dumps({"error": error}).encode(), JSON)


def call(request: Asked, answer: Answered | None, turn: int = 1, **more: Any) -> WireCall:
    return replace(WireCall(turn, request, answer, 0.5), **more)


def posted(path: str, body: dict[str, Any], answer: dict[str, Any], turn: int = 1, **more: Any) -> WireCall:
    """A call of any protocol, with JSON both ways."""
    request = Asked("POST", path, json.dumps(body).encode())
    return call(request, Answered(200, json.dumps(answer).encode(), JSON), turn, **more)
