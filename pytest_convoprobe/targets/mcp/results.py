"""What a tool of a server returns, as plain data: for the model, the checks and the judge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...formatting import size

_ENVELOPE = {"result"}


def value_of(result: Mapping[str, Any]) -> Any:
    """The structured content if that says all, the text, or a list of the parts.

    Binary parts are replaced by a mark with their type and size: `[image/png, 30 kB]`.
    """
    parts = [_part(block) for block in result.get("content") or ()]
    structured = result.get("structuredContent")
    if structured is None:
        return _joined(parts)
    inner = structured["result"] if _is_envelope(structured) else structured
    if not parts or _says_the_same(parts, structured, inner):
        return inner
    return {"content": _joined(parts), "structured": structured}


def error_of(result: Mapping[str, Any]) -> str | None:
    """The words of a result that the server itself calls an error."""
    if result.get("isError") is not True:
        return None
    said = _joined([_part(block) for block in result.get("content") or ()])
    words = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return words.strip() or "the tool failed and gave no reason"


def _joined(parts: list[Any]) -> Any:
    if all(isinstance(part, str) for part in parts):
        return "\n".join(parts)
    return parts[0] if len(parts) == 1 else parts


def _is_envelope(structured: Any) -> bool:
    """Values that are no objects are put into one by servers, as the protocol wants objects."""
    return isinstance(structured, Mapping) and structured.keys() == _ENVELOPE


def _says_the_same(parts: list[Any], structured: Any, inner: Any) -> bool:
    """Whether the text is only the JSON of the structured content, for clients that read nothing else."""
    if not all(isinstance(part, str) for part in parts):
        return False
    read = [_read(part) for part in parts]
    return read in ([structured], [inner]) or read == inner or parts in ([inner], inner)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _part(block: Mapping[str, Any]) -> Any:
    kind = block.get("type")
    if kind == "text":
        return block.get("text", "")
    if kind in ("image", "audio"):
        return _binary(block.get("mimeType") or kind, block.get("data", ""))
    if kind == "resource":
        return _resource(block.get("resource") or {})
    if kind == "resource_link":
        named = {key: block[key] for key in ("uri", "name", "description", "mimeType") if block.get(key)}
        return {"resource": named}
    return dict(block)


def _resource(resource: Mapping[str, Any]) -> Any:
    found = {key: resource[key] for key in ("uri", "mimeType") if resource.get(key)}
    if "text" in resource:
        found["text"] = resource["text"]
    elif "blob" in resource:
        found["content"] = _binary(resource.get("mimeType") or "", resource["blob"])
    return {"resource": found}


def _binary(kind: str, base64: str) -> str:
    return f"[{kind or 'binary data'}, {size(len(base64.rstrip('=')) * 3 // 4)}]"
