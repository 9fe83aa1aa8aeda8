"""The messages of a conversation, in our form and in those that other systems write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...targets.plain_values import plain
from ...targets.reply_parts import as_tool_call
from ...transcript import ToolCall
from .reading import not_an_object, wrong_value


@dataclass(frozen=True)
class Said:
    """One message of a conversation; `tool_calls` are those that the assistant made before it said this.

    They have plain JSON, and no latency.
    """

    role: Literal["user", "assistant"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()

    def to_json(self) -> dict[str, Any]:
        said = {"role": self.role, "content": self.content}
        return {**said, "tool_calls": [*map(_call_to_json, self.tool_calls)]} if self.tool_calls else said


def read_messages(items: Iterable[Any]) -> tuple[Said, ...]:
    """The messages of a list, one or two from each item. Raises `ResultsError`."""
    found = tuple(items)
    results = _results(found)
    return tuple(said for item in found for said in _said(item, results))


_TEXTS = ("content", "text", "message")
_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "target": "assistant", "ai": "assistant"}


def _said(item: Any, results: Mapping[str, Any]) -> tuple[Said, ...]:
    """A message, or a turn that has both sides; what is neither side's (a system prompt) is left out."""
    if not isinstance(item, Mapping):
        raise not_an_object(item, "message")
    calls = _calls(item, results)
    if "role" not in item and {"user", "assistant"} & item.keys():
        user = [Said("user", _text(item, "user", default=""))] if "user" in item else []
        replied = "assistant" in item or calls
        return (
            (*user, Said("assistant", _text(item, "assistant", default=""), calls)) if replied else (*user,)
        )
    role = _ROLES.get(_text(item, "role").lower())
    # A text of null says nothing: a reply that was filtered, or that only called a tool.
    text = _text(item, *_TEXTS, default="" if item.keys() & {*_TEXTS, "tool_calls"} else None)
    if role == "user":
        return (Said("user", text),)
    return (Said("assistant", text, calls),) if role else ()


def _text(item: Mapping[str, Any], *names: str, default: str | None = None) -> str:
    """The first of these fields that isn't null; other fields may be anything."""
    value = next((item[name] for name in names if item.get(name) is not None), default)
    if not isinstance(value, str):
        raise wrong_value(item, "message", names[0], "a text")
    return value


def _calls(item: Mapping[str, Any], results: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The tool calls of a message, in our form or in that of a provider; none where it is in neither.

    Another system's field of this name is left alone, as its other fields are.
    """
    given = item.get("tool_calls")
    try:
        return tuple(_call(one, results) for one in given) if isinstance(given, list) else ()
    except ValueError:
        return ()


def _call(item: Any, results: Mapping[str, Any]) -> ToolCall:
    call = replace(as_tool_call(item), latency=None)
    found = results.get(str(item.get("id"))) if isinstance(item, Mapping) else None
    return replace(call, result=found) if call.result is None else call


def _results(items: Iterable[Any]) -> dict[str, Any]:
    """What tools gave back where that is a message of its own, by the id of its call."""
    given = [item for item in items if isinstance(item, Mapping) and item.get("role") == "tool"]
    return {
        str(item["tool_call_id"]): plain(item.get("content")) for item in given if item.get("tool_call_id")
    }


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    return {
        "name": call.name,
        "arguments": dict(call.arguments),
        "result": call.result,
        "error": call.error,
    }
