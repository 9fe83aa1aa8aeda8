"""The chat-completions protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..port import ToolRequest
from .content import content_text, content_texts, tool_output, tool_request
from .counts import chat_counts
from .events import WireEvent
from .failing import error_in
from .shapes import listing, mapping, mappings, text_of
from .types import ModelAnswer, ModelProtocol, ModelRequest, TokenCounts, ToolOutput, WireMessage

_OWN = frozenset({"model", "messages", "tools", "functions", "response_format", "stream"})
# An index beyond this is a mistake, or an attack on memory.
_MOST_PIECES = 10_000


def read_request(data: dict[str, Any]) -> ModelRequest:
    """The request in a body."""
    messages = tuple(map(_message, mappings(data.get("messages"), most=100_000)))
    wanted = mapping(data.get("response_format"))
    schema = wanted.get("json_schema") if wanted.get("type") == "json_schema" else None
    plain = {} if schema is not None or not wanted else {"response_format": wanted}
    return ModelRequest(
        ModelProtocol.CHAT,
        text_of(data.get("model")),
        messages,
        (*listing(data.get("tools")), *listing(data.get("functions"))),
        {**{name: value for name, value in data.items() if name not in _OWN}, **plain},
        schema,
        data.get("stream") is True,
        texts=tuple(text for message in messages for text in _texts(message)),
    )


def _message(data: dict[str, Any]) -> WireMessage:
    role = text_of(data.get("role"))
    results: tuple[ToolOutput, ...] = ()
    if role in ("tool", "function"):
        # The older form has no id: the name of the function stands for it.
        identifier = data.get("tool_call_id") or data.get("name")
        results = (tool_output(identifier, data.get("content")),)
    return WireMessage(role, content_text(data.get("content")), _asked(data), results, data)


def _texts(message: WireMessage) -> tuple[str, ...]:
    return tuple(text for text in content_texts(mapping(message.data).get("content")) if text)


def _asked(message: dict[str, Any]) -> tuple[ToolRequest, ...]:
    """The calls of tools in a message of the model, in the present and in the older form."""
    calls = tuple(_call(call) for call in mappings(message.get("tool_calls")))
    old = mapping(message.get("function_call"))
    return (*calls, tool_request(old.get("name"), old.get("name"), old.get("arguments"))) if old else calls


def _call(call: dict[str, Any]) -> ToolRequest:
    function, custom = mapping(call.get("function")), mapping(call.get("custom"))
    said = function.get("arguments", custom.get("input"))
    return tool_request(call.get("id"), function.get("name") or custom.get("name"), said)


def read_answer(data: dict[str, Any]) -> ModelAnswer:
    """The answer in a body. Of several choices, the first one counts."""
    choice = next(iter(mappings(data.get("choices"), most=1)), {})
    message = mapping(choice.get("message"))
    refusal = text_of(message.get("refusal"))
    return ModelAnswer(
        content_text(message.get("content")) or refusal,
        _asked(message),
        chat_counts(data.get("usage")),
        text_of(choice.get("finish_reason")),
        text_of(data.get("model")),
        error_in(data),
        text_of(data.get("id")),
        text_of(message.get("reasoning_content")) or text_of(message.get("reasoning")),
        refusal,
        bool(choice),
    )


class _Pieces:
    """What the events of a stream have said so far."""

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning": []}
        self.calls: dict[int, dict[str, list[str]]] = {}
        self.finish = ""

    def add(self, choice: dict[str, Any]) -> None:
        delta = mapping(choice.get("delta"))
        self.finish = text_of(choice.get("finish_reason")) or self.finish
        self.said["content"].append(content_text(delta.get("content")))
        self.said["refusal"].append(text_of(delta.get("refusal")))
        self.said["reasoning"].append(
            text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        )
        for place, call in enumerate(mappings(delta.get("tool_calls"))):
            self._call(call, place)
        old = mapping(delta.get("function_call"))
        if old:
            self._call({"index": -1, "id": old.get("name"), "function": old}, 0)

    def _call(self, call: dict[str, Any], place: int) -> None:
        index = call.get("index", place)
        if not isinstance(index, int) or len(self.calls) >= _MOST_PIECES:
            return
        parts = self.calls.setdefault(index, {"id": [], "name": [], "arguments": []})
        function = mapping(call.get("function")) or mapping(call.get("custom"))
        # Some servers repeat the id and the name in each piece.
        for part, value in (("id", call.get("id")), ("name", function.get("name"))):
            if text_of(value) and not parts[part]:
                parts[part].append(text_of(value))
        parts["arguments"].append(text_of(function.get("arguments", function.get("input"))))

    @property
    def asked(self) -> tuple[ToolRequest, ...]:
        joined = ({name: "".join(part) for name, part in parts.items()} for parts in self.calls.values())
        return tuple(tool_request(one["id"], one["name"], one["arguments"]) for one in joined)


def read_stream(events: Iterable[WireEvent]) -> ModelAnswer:
    """The answer in a stream. It is complete once its reason to end, or the mark of the end, has come."""
    found, usage, error, model, identifier, done = _Pieces(), None, None, "", "", False
    for event in events:
        done = done or event.is_done
        usage = _latest(usage, chat_counts(event.data.get("usage")))
        error = error or error_in(event.data)
        model = model or text_of(event.data.get("model"))
        identifier = identifier or text_of(event.data.get("id"))
        for choice in mappings(event.data.get("choices")):
            if choice.get("index", 0) == 0:
                found.add(choice)
    content, refusal, thoughts = ("".join(found.said[name]) for name in ("content", "refusal", "reasoning"))
    complete = done or bool(found.finish)
    return ModelAnswer(
        content or refusal,
        found.asked,
        usage,
        found.finish,
        model,
        error,
        identifier,
        thoughts,
        refusal,
        complete,
    )


def _latest(before: TokenCounts | None, now: TokenCounts | None) -> TokenCounts | None:
    """The last counts: some servers send growing ones with each event."""
    return before if now is None else now
