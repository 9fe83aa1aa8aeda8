"""Answers of the chat-completions server as a stream: what a client gets that asks for `stream: true`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def as_stream(body: Mapping[str, Any]) -> str:
    """The whole body of a streamed answer, from that of a plain one: server-sent events and `[DONE]`."""
    return "".join(f"data: {chunk}\n\n" for chunk in (*map(json.dumps, _chunks(body)), "[DONE]"))


def _chunks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One chunk for each half of the text and each tool call, one with the reason, one with the usage."""
    choice = body["choices"][0]
    message = choice["message"]
    text = message["content"] or ""
    texts = [text[: len(text) // 2], text[len(text) // 2 :]] if text else []
    reasoning = message.get("reasoning_content")
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls", ()))]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": reasoning}] if reasoning else []
    deltas += [{"content": part} for part in texts] + [{"tool_calls": [call]} for call in calls]
    common = {key: body[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for delta in deltas:
        yield {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**common, "choices": [], "usage": body["usage"]}
