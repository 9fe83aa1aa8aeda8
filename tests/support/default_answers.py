"""What the loopback server says when a test does not tell it: good enough for whole pytest runs.

- Where JSON is asked for (a schema in `response_format`), an instance of that schema: of an enum the word
  that speaks for the agent, of a list whose items have an `id` one for each criterion that the prompt names.
- Where tools are offered and the last message says ``call TOOL {"argument": 1}``, that call.
- Otherwise a sentence that names the number of the turn and repeats the last message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_GOOD_WORDS = ("met", "not_triggered", "stop", "done", "continue", "none")


def default_answer(body: Mapping[str, Any]) -> str | list[tuple[str, str]]:
    """Text, or the tool calls to make as pairs of a name and JSON text."""
    messages = body.get("messages", [])
    last = str(messages[-1].get("content") or "") if messages else ""
    asked = re.search(r"call (\w+) (\{.*\})", last)
    if body.get("tools") and asked:
        return [(asked[1], asked[2])]
    schema = _schema(body)
    if schema is not None:
        return json.dumps(instance(schema, _Context(messages)))
    turn = sum(message.get("role") == "user" for message in messages)
    return f"Answer {turn} to: {last[:200]}"


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    schema = wanted.get("schema")
    return schema if isinstance(schema, Mapping) else None


class _Context:
    """What the prompt offers to fill a schema with."""

    def __init__(self, messages: list[Mapping[str, Any]]) -> None:
        self.text = "\n".join(str(message.get("content") or "") for message in messages)
        self.turn = len(messages)

    @property
    def criterion_ids(self) -> list[str]:
        return list(dict.fromkeys(re.findall(r"\b[cft]\d+\b", self.text)))


def instance(schema: Mapping[str, Any], context: _Context, root: Mapping[str, Any] | None = None) -> Any:
    """A value that is valid for `schema` (the subset that pydantic writes for replies)."""
    root = root or schema
    if "$ref" in schema:
        return instance(_resolve(schema["$ref"], root), context, root)
    for combination in ("anyOf", "oneOf", "allOf"):
        if combination in schema:
            return _of_several(schema[combination], context, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return next((word for word in _GOOD_WORDS if word in schema["enum"]), schema["enum"][0])
    return _of_type(schema, context, root)


def _resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return node  # type: ignore[no-any-return]


def _of_several(options: list[Mapping[str, Any]], context: _Context, root: Mapping[str, Any]) -> Any:
    if any(option.get("type") == "null" for option in options):
        return None
    return instance(options[0], context, root)


def _of_type(schema: Mapping[str, Any], context: _Context, root: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return None if "null" in kind else _of_type({**schema, "type": kind[0]}, context, root)
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _property(name, part, context, root) for name, part in properties.items()}
    if kind == "array":
        return _array(schema, context, root)
    simple: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "null": None}
    return simple.get(kind, f"This is simulated text {context.turn}.")


def _property(name: str, schema: Mapping[str, Any], context: _Context, root: Mapping[str, Any]) -> Any:
    return instance(schema, context, root)


def _array(schema: Mapping[str, Any], context: _Context, root: Mapping[str, Any]) -> list[Any]:
    """One item; where items have an `id`, one for each criterion in the prompt."""
    items = schema.get("items", {})
    item = instance(items, context, root)
    if isinstance(item, dict) and "id" in item and context.criterion_ids:
        return [{**item, "id": criterion} for criterion in context.criterion_ids]
    return [item] * max(1, int(schema.get("minItems", 0)))
