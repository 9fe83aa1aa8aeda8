"""How the model server reads requests and words answers: chat completions, Responses, Messages, embeddings.

Plain data in, plain data out. As with real providers, each answer has new ids and the time of now.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .chat_server import Completion
from .chat_streams import as_stream

CHAT, RESPONSES, MESSAGES, EMBEDDINGS = "chat", "responses", "messages", "embeddings"
_PATHS = {
    "chat/completions": CHAT,
    "responses": RESPONSES,
    "messages": MESSAGES,
    "embeddings": EMBEDDINGS,
}


def protocol_of(path: str) -> str:
    """The protocol that a path is of; empty for any other path."""
    plain = path.partition("?")[0].strip("/").removeprefix("v1/")
    return _PATHS.get(plain, "")


@dataclass(frozen=True)
class Line:
    """One text of a request: whose it is (system, user, assistant, tool), and what it says."""

    role: str
    text: str


def lines_of(protocol: str, body: Mapping[str, Any]) -> list[Line]:
    """What a request says, in its order; calls of tools are left out."""
    if protocol == RESPONSES:
        return [*_system(body.get("instructions")), *_items(body.get("input"))]
    return [*_system(body.get("system")), *(line for one in body.get("messages", ()) for line in _lines(one))]


def tools_of(body: Mapping[str, Any]) -> set[str]:
    """The names of the tools that a request offers."""
    return {(tool.get("function") or tool).get("name", "") for tool in body.get("tools") or ()}


def answer_body(protocol: str, said: Completion, request: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a plain answer."""
    model = str(request.get("model", "fake"))
    make = {CHAT: _chat, RESPONSES: _response, MESSAGES: _message}[protocol]
    return make(said, model)


def answer_events(protocol: str, said: Completion, request: Mapping[str, Any]) -> list[bytes]:
    """A streamed answer, event by event."""
    body = answer_body(protocol, said, request)
    if protocol == CHAT:
        return _chat_events(body, bool((request.get("stream_options") or {}).get("include_usage")))
    events = _response_events(body) if protocol == RESPONSES else _message_events(body)
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]


def embeddings(request: Mapping[str, Any]) -> dict[str, Any]:
    """A short vector for each text, always the same one for the same text."""
    given = request.get("input", [])
    texts = [given] if isinstance(given, str) else list(given)
    packed = request.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": at, "embedding": _vector(str(text), packed)}
        for at, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return {"object": "list", "data": data, "model": request.get("model", "fake"), "usage": usage}


def error_body(protocol: str, status: int, message: str) -> str:
    """What a provider says where it refuses or fails."""
    kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(
        status, "api_error" if status >= 500 else "invalid_request_error"
    )
    if protocol == MESSAGES:
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}})
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}})


def _system(text: Any) -> list[Line]:
    return [Line("system", _text(text))] if text else []


def _items(given: Any) -> Iterator[Line]:
    """The input of a request of Responses: a text, or messages and results of tools."""
    if isinstance(given, str):
        yield Line("user", given)
        return
    for item in given or ():
        if item.get("type") == "function_call_output":
            yield Line("tool", _text(item.get("output")))
        elif item.get("type", "message") == "message":
            yield Line(str(item.get("role")), _text(item.get("content")))


def _lines(message: Mapping[str, Any]) -> Iterator[Line]:
    """Those of a message; in Messages, results of tools are parts of one of the user's."""
    role, content = str(message.get("role")), message.get("content")
    parts = content if isinstance(content, list) else []
    results = [part for part in parts if part.get("type") == "tool_result"]
    yield from (Line("tool", _text(part.get("content"))) for part in results)
    if text := _text(content):
        yield Line("system" if role == "developer" else role, text)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def _new(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex[:24]}"


def _arguments(arguments: Mapping[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _chat(said: Completion, model: str) -> dict[str, Any]:
    calls = [
        {
            "id": _new("call_"),
            "type": "function",
            "function": {"name": name, "arguments": _arguments(arguments)},
        }
        for name, arguments in said.tool_calls
    ]
    message = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
    reason = said.finish_reason or ("tool_calls" if calls else "stop")
    total = said.prompt_tokens + said.completion_tokens
    counts = {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.completion_tokens}
    return {
        "id": _new("chatcmpl-"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {**counts, "total_tokens": total},
    }


def _chat_events(body: Mapping[str, Any], with_usage: bool) -> list[bytes]:
    events = [f"{event}\n\n" for event in as_stream(body).split("\n\n") if event]
    return [one.encode() for one in events if with_usage or '"choices": []' not in one]


def _response(said: Completion, model: str) -> dict[str, Any]:
    output = [_output_text(said.text)] if said.text is not None else []
    output += [
        {
            "type": "function_call",
            "id": _new("fc_"),
            "call_id": _new("call_"),
            "name": name,
            "arguments": _arguments(arguments),
            "status": "completed",
        }
        for name, arguments in said.tool_calls
    ]
    return {
        "id": _new("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": said.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": said.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": said.prompt_tokens + said.completion_tokens,
        },
    }


def _output_text(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": _new("msg_"),
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _response_events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for number, event in enumerate(_unnumbered(body)):
        yield {**event, "sequence_number": number}


def _unnumbered(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for at, item in enumerate(body["output"]):
        where = {"output_index": at, "item_id": item["id"]}
        empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield {
            "type": "response.output_item.added",
            "output_index": at,
            "item": {**item, **empty, "status": "in_progress"},
        }
        yield from _text_events(item, where) if item["type"] == "message" else _call_events(item, where)
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": dict(body)}


def _text_events(item: Mapping[str, Any], where: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    part = item["content"][0]
    where = {**where, "content_index": 0}
    yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    for half in _halves(part["text"]):
        yield {"type": "response.output_text.delta", **where, "delta": half, "logprobs": []}
    yield {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **where, "part": part}


def _call_events(item: Mapping[str, Any], where: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for half in _halves(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **where, "delta": half}
    done = {"type": "response.function_call_arguments.done", **where}
    yield {**done, "name": item["name"], "arguments": item["arguments"]}


def _message(said: Completion, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text is not None else []
    content += [
        {"type": "tool_use", "id": _new("toolu_"), "name": name, "input": json.loads(_arguments(arguments))}
        for name, arguments in said.tool_calls
    ]
    return {
        "id": _new("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": said.finish_reason or ("tool_use" if said.tool_calls else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": said.prompt_tokens, "output_tokens": said.completion_tokens},
    }


def _message_events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {"content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": {**body, **begun}}
    yield {"type": "ping"}
    for at, block in enumerate(body["content"]):
        yield from _block_events(at, block)
    delta = {key: body[key] for key in ("stop_reason", "stop_sequence")}
    usage = {"output_tokens": body["usage"]["output_tokens"]}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _block_events(at: int, block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    is_text = block["type"] == "text"
    start = {**block, **({"text": ""} if is_text else {"input": {}})}
    yield {"type": "content_block_start", "index": at, "content_block": start}
    kind, key = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
    for half in _halves(block["text"] if is_text else json.dumps(block["input"])):
        yield {"type": "content_block_delta", "index": at, "delta": {"type": kind, key: half}}
    yield {"type": "content_block_stop", "index": at}


def _halves(text: str) -> list[str]:
    middle = (len(text) + 1) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def _vector(text: str, packed: bool) -> list[float] | str:
    # Fractions of a power of two: the same in single precision.
    numbers = [byte / 256 for byte in hashlib.sha256(text.encode()).digest()[:8]]
    return base64.b64encode(struct.pack("<8f", *numbers)).decode() if packed else numbers
