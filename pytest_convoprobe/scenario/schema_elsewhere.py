"""In the JSON Schema of a scenario: values that a parameter or another file gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_USED_UP = ("extends", "parameters")
_ELSEWHERE = "Elsewhere"
_ANNOTATIONS = ("title", "description", "examples", "default")


def allow_elsewhere(schema: dict[str, Any]) -> None:
    """Let every value of a mapping, and every item of a list in it, come from elsewhere."""
    definitions = schema["$defs"]
    parts = (schema, *definitions.values())
    definitions[_ELSEWHERE] = _elsewhere()
    for part in parts:
        _allow(part, definitions)


def _elsewhere() -> dict[str, Any]:
    """How a value that isn't a text is taken from elsewhere. An editor shows `!include` without its tag."""
    return {
        "description": "`${name}` of `parameters`, or the file of an `!include`.",
        "type": "string",
        "pattern": r"^(\$\{[A-Za-z_]\w*\}|[^\n]+\.(yaml|yml|json)(#[^\n]+)?)$",
    }


def _allow(part: dict[str, Any], definitions: Mapping[str, Any]) -> None:
    for name, value in part.get("properties", {}).items():
        if name not in _USED_UP:
            part["properties"][name] = _or_elsewhere(value, definitions)


def _or_elsewhere(value: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    annotations = {name: inner for name, inner in value.items() if name in _ANNOTATIONS}
    own = {name: inner for name, inner in value.items() if name not in _ANNOTATIONS}
    own = _with_items(own, definitions)
    if _takes_any_text(own, definitions):
        return {**own, **annotations}
    return {"anyOf": [own, {"$ref": f"#/$defs/{_ELSEWHERE}"}], **annotations}


def _with_items(value: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The same for the items of a list, the values of a mapping with any keys, and each form of these."""
    changed = dict(value)
    for key in ("items", "additionalProperties"):
        if isinstance(value.get(key), dict):
            changed[key] = _or_elsewhere(value[key], definitions)
    for key in ("anyOf", "oneOf"):
        if key in value:
            changed[key] = [_with_items(member, definitions) for member in value[key]]
    return changed


def _takes_any_text(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    if "$ref" in value:
        return _takes_any_text(definitions[value["$ref"].rpartition("/")[2]], definitions)
    if members := value.get("anyOf") or value.get("oneOf"):
        return any(_takes_any_text(member, definitions) for member in members)
    kinds = value.get("type", "string")
    return "string" in kinds and not {"enum", "const", "format"} & value.keys()
