"""The content of a message: a text, or parts of many kinds."""

from __future__ import annotations

from typing import Any

from ..port import ToolRequest
from .shapes import as_json, digest_of, listing, mapping, text_of
from .types import ToolOutput

TEXTS = frozenset({"text", "input_text", "output_text", "refusal", "summary_text"})
"""The types of parts that are texts, in all protocols."""

_KINDS = {"image": "image", "audio": "sound", "file": "file", "document": "file", "video": "video"}


def content_text(content: Any) -> str:
    """The text of a content; what isn't text is in it by its kind and a digest."""
    return "\n".join(text for text in content_texts(content) if text)


def content_texts(content: Any) -> tuple[str, ...]:
    """The text of each part. Calls and results of tools aren't part of it."""
    if isinstance(content, str):
        return (content,)
    parts = [content] if isinstance(content, dict) else listing(content)
    return tuple(_part_text(part) for part in parts)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = text_of(mapping(part).get("type"))
    if kind in TEXTS or not kind:
        return text_of(mapping(part).get("text")) or text_of(mapping(part).get("refusal"))
    name = next((name for sign, name in _KINDS.items() if sign in kind), "")
    return f"[{name} {digest_of(part)}]" if name else ""


def tool_request(identifier: Any, name: Any, arguments: Any) -> ToolRequest:
    """A call of a tool, with its arguments as a text of JSON."""
    written = "{}" if arguments is None or arguments == "" else as_json(arguments)
    return ToolRequest(text_of(identifier), text_of(name), written)


def tool_output(identifier: Any, content: Any, *, is_error: bool = False) -> ToolOutput:
    """The result of a tool. Data that isn't a content of the protocol is shown as JSON."""
    text = content_text(content)
    if not text and content and not isinstance(content, str):
        text = as_json(content)
    return ToolOutput(text_of(identifier), text, is_error)
