"""Bodies of requests and answers, as clients and providers write them."""

from __future__ import annotations

import json
from typing import Any


def body(data: Any) -> bytes:
    return json.dumps(data).encode()


def sse(*events: Any, done: bool = False) -> bytes:
    """A stream of events, named after their `type` where they have one."""
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "model": "gpt-x", "choices": [choice], **more}
