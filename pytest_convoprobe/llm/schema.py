"""JSON Schemas in the form that strict structured output requires."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

_NOISE = frozenset({"title", "default", "discriminator", "examples"})
# Each of these is refused by some provider. pydantic checks them when the reply arrives.
_BOUNDS = frozenset(
    "minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
    "minItems maxItems uniqueItems".split()
)
_LEFT_OUT = _NOISE | _BOUNDS
_MAPS_OF_SCHEMAS = frozenset({"properties", "$defs"})


@lru_cache(maxsize=64)
def strict_schema(reply_type: type[BaseModel]) -> Mapping[str, Any]:
    """The schema of `reply_type`: every property required, no others, no defaults, no bounds.

    Cached, because making it takes longer than the rest of our work for a call. Do not modify the result.
    """
    strict: Mapping[str, Any] = _strict(reply_type.model_json_schema())
    return strict


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        # Strict mode allows no other keys beside a reference.
        return {"$ref": node["$ref"]}
    return _closed(
        {_strict_key(key): _strict_value(key, value) for key, value in node.items() if key not in _LEFT_OUT}
    )


def _strict_key(key: str) -> str:
    return "anyOf" if key == "oneOf" else key


def _strict_value(key: str, value: Any) -> Any:
    if key in _MAPS_OF_SCHEMAS:
        return {name: _strict(schema) for name, schema in value.items()}
    return value if key in {"enum", "const", "required"} else _strict(value)


def _closed(node: dict[str, Any]) -> dict[str, Any]:
    if node.get("type") == "object" and "properties" in node:
        return {**node, "required": list(node["properties"]), "additionalProperties": False}
    return node
