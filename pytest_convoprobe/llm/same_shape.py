"""One shape for data that says the same: what clients and frameworks write in different ways."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from .fingerprint import bare_schema
from .protocols import WireMessage
from .protocols.shapes import digest_of, mapping, read_data
from .volatile_texts import TextReader

# What clients add to the messages that they send back, and what only says how to keep them.
_ADDED = frozenset(
    {"cache_control", "annotations", "index", "status", "provider_specific_fields", "logprobs"}
)
_IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "approval_request_id"})
# Items of the Responses protocol have an id of their own beside the one that links them.
_OWN_ID = frozenset(
    "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output".split()
)
# Data of a tool in the protocols: here an empty value is a value.
_OF_TOOLS = frozenset({"input", "arguments", "parameters", "output", "schema", "input_schema"})
_TEXTS = frozenset({"input_text", "output_text"})
_RESULTS = frozenset({"tool_result", "mcp_tool_result"})
_LEAST_CLOCK = 10**9
_LEAST_BINARY = 2_000
_SPACE = re.compile(r"\s")
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def normal(value: Any, read: TextReader) -> Any:
    """A message in the shape that all clients' messages have, with its texts as `read` gives them."""
    if isinstance(value, str):
        return read(value)
    if isinstance(value, dict):
        return _mapping(value, read)
    if isinstance(value, list):
        return [normal(item, read) for item in value]
    return _number(value, read)


def _mapping(data: dict[str, Any], read: TextReader) -> dict[str, Any]:
    # In the order of the names: ids are numbered as they come.
    pairs = ((name, _entry(name, value, read)) for name, value in sorted(data.items()) if _counts(name, data))
    return {name: value for name, value in pairs if value not in _EMPTY}


def _counts(name: str, data: dict[str, Any]) -> bool:
    """Whether a field can make a difference."""
    value = data[name]
    if name in _ADDED or value is None or (name == "is_error" and value is False):
        return False
    kind = data.get("type")
    if name == "id" and isinstance(kind, str) and kind in _OWN_ID:
        return False
    return not (name == "type" and kind == "message")


def _entry(name: str, value: Any, read: TextReader) -> Any:
    if name in _IDS and isinstance(value, str):
        return read.number(value)
    if name in _OF_TOOLS:
        return _of_tool(value, read)
    if name == "content":
        return _content(value, read)
    if name == "type" and value in _TEXTS:
        return "text"
    return normal(value, read)


def _content(content: Any, read: TextReader) -> Any:
    """A content in parts; one that is a text alone is that text."""
    if not isinstance(content, list):
        return normal(content, read)
    # Results are in the order of their calls, whichever tool was done first.
    parts = [normal(part, read) for part in sorted(content, key=lambda part: _call_number(part, read))]
    only = parts[0] if len(parts) == 1 else None
    if isinstance(only, dict) and only.keys() <= {"type", "text"} and only.get("type", "text") == "text":
        return only.get("text", "")
    return parts


def _call_number(part: Any, read: TextReader) -> str:
    data = mapping(part)
    called = data.get("tool_use_id") if data.get("type") in _RESULTS else None
    return read.number(called).rjust(20) if isinstance(called, str) else ""


def _of_tool(value: Any, read: TextReader) -> Any:
    """The arguments or the result of a tool: JSON in a text counts by what it says, not by its spaces."""
    parsed = _json(value) if isinstance(value, str) else value
    return read(value) if parsed is None else ["data", as_it_is(parsed, read)]


def _json(text: str) -> Any:
    """The object or list in a text; None if it is another text."""
    try:
        data = read_data(text.encode("utf-8", "surrogatepass")) if text[:1] in ("{", "[") else None
    except ValueError:
        return None
    return data


def as_it_is(value: Any, read: TextReader) -> Any:
    """Data of which every name and every value counts, but for volatile parts of texts."""
    if isinstance(value, str):
        return read(value)
    if isinstance(value, dict):
        return {name: as_it_is(item, read) for name, item in sorted(value.items())}
    if isinstance(value, list):
        return [as_it_is(item, read) for item in value]
    return _number(value, read)


def _number(value: Any, read: TextReader) -> Any:
    """A number in one spelling: JavaScript writes 1 for 1.0. A number that JSON doesn't have is a text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # A time since 1970 may come as a number, too.
    as_text = read(repr(value)) if type(value) in (int, float) and value > _LEAST_CLOCK else ""
    return as_text if as_text and as_text != repr(value) else value


def without_binaries(value: Any) -> Any:
    """The data with images and sounds as digests: in them are no clocks, and no secrets to be found."""
    if isinstance(value, str):
        binary = len(value) > _LEAST_BINARY and not _SPACE.search(value[:_LEAST_BINARY])
        return f"binary {digest_of(value)}" if binary else value
    if isinstance(value, dict):
        return {name: without_binaries(item) for name, item in value.items()}
    return [without_binaries(item) for item in value] if isinstance(value, list) else value


def without_empty(value: Any) -> Any:
    """Settings of a call without those that are not set."""
    if isinstance(value, dict):
        found = ((name, without_empty(item)) for name, item in value.items())
        return {name: item for name, item in found if item not in _EMPTY}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def bare_tool(tool: Any) -> Any:
    """A tool, or a schema, without what releases of pydantic write in different ways."""
    return bare_schema(tool)


def in_order(messages: tuple[WireMessage, ...]) -> Iterator[WireMessage]:
    """The messages, with results of tools that ran side by side in the order of their calls."""
    asked = (tool.id for message in messages for tool in message.tool_requests)
    places = {identifier: place for place, identifier in enumerate(dict.fromkeys(asked))}

    def place(message: WireMessage) -> int:
        return min((places.get(result.id, -1) for result in message.tool_results), default=-1)

    for side_by_side, group in groupby(messages, key=_is_result):
        found = list(group)
        yield from sorted(found, key=place) if side_by_side else found


def _is_result(message: WireMessage) -> bool:
    """Whether a message is the result of one tool and nothing else."""
    return len(message.tool_results) == 1 and message.role in ("tool", "function")
