"""JSON Schemas in the form that strict structured output asks for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

_NOISE = frozenset({"title", "default", "discriminator", "examples"})
# Each of these is refused by one provider or another; pydantic checks them when the reply is there.
_BOUNDS = frozenset(
    "minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
    "minItems maxItems uniqueItems".split()
)
_LEFT_OUT = _NOISE | _BOUNDS
_MAPS_OF_SCHEMAS = frozenset({"properties", "$defs"})


@lru_cache(maxsize=64)
def strict_schema(reply_type: type[BaseModel]) -> Mapping[str, Any]:
    """The schema of `reply_type`: every property required, no others, no defaults, no bounds.

    It is kept, because making one takes longer than all else that a call costs us: not to be changed.
    """
    strict: Mapping[str, Any] = _strict(reply_type.model_json_schema())
    return strict


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        # Strict mode takes a reference only where it stands alone.
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
