"""The JSON Schema of a tool's parameters, looked through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_COMBINED = ("anyOf", "oneOf", "allOf")
_TYPED = ("type", "enum", "const", "$ref", *_COMBINED)
_DEEPEST = 12


def properties_of(schema: Schema) -> dict[str, Schema]:
    """The parameters by name."""
    found = schema.get("properties")
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {str(name): one if isinstance(one, Mapping) else {} for name, one in pairs}


def is_typed(schema: Schema) -> bool:
    """Whether it says which values it takes."""
    return any(key in schema for key in _TYPED)


def parts_of(schema: Schema, path: str = "", depth: int = 0) -> Iterator[tuple[str, Schema]]:
    """The schema and all schemas within it, each with its path: `filter.dates[]`."""
    yield path, schema
    if depth == _DEEPEST:
        return
    for name, part in properties_of(schema).items():
        yield from parts_of(part, f"{path}.{name}" if path else name, depth + 1)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from parts_of(items, f"{path}[]", depth + 1)
    for key in _COMBINED:
        for part in schema.get(key) if isinstance(schema.get(key), list) else ():  # type: ignore[union-attr]
            if isinstance(part, Mapping):
                yield from parts_of(part, path, depth + 1)
    for part in _definitions(schema).values():
        yield from parts_of(part, path, depth + 1)


def _definitions(schema: Schema) -> dict[str, Schema]:
    found = {**_mapping(schema.get("$defs")), **_mapping(schema.get("definitions"))}
    return {name: one for name, one in found.items() if isinstance(one, Mapping)}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def resolves(reference: object, schema: Schema) -> bool:
    """Whether a `$ref` leads to a place in this schema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return False
    found: object = schema
    for part in reference[1:].strip("/").split("/") if reference != "#" else ():
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            return False
        found = found[name]
    return True


def types_of(schema: Schema) -> tuple[str, ...]:
    """The names of its types; `("string", "null")`."""
    found = schema.get("type")
    return (found,) if isinstance(found, str) else tuple(map(str, found)) if isinstance(found, list) else ()
