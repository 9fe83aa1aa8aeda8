"""What a model of a format knows: its keys, where they belong, and the limits of its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel

from ..suggest import plain_name
from .document import Loc, dotted

_ITEM = "[]"
_ANY_KEY = "*"


def known_keys(model: type[BaseModel], loc: Loc) -> tuple[str, ...]:
    """The keys of the mapping at `loc`; empty where any key is allowed."""
    found = _models_at(model, loc)
    names = (field.alias or name for one in found for name, field in one.model_fields.items())
    return tuple(dict.fromkeys(names))


def is_required(model: type[BaseModel], loc: Loc) -> bool:
    """Whether the key at `loc` has to be given."""
    owner = _owner(model, loc)
    return owner is not None and owner.model_fields[str(loc[-1])].is_required()


def owners(model: type[BaseModel], key: str) -> tuple[str, ...]:
    """Where a key that is in the wrong place belongs: ``("in `evaluation`",)``."""
    plain = plain_name(key)
    return tuple(
        f"in `{dotted(pattern).replace('.[]', '[]')}`" if pattern else "at the top"
        for pattern, found in _models(model).items()
        if any(plain in owner.model_fields for owner in found)
    )


def limits(model: type[BaseModel], loc: Loc) -> str:
    """The range that the number at `loc` must keep to: `from 1 to 100`."""
    owner = _owner(model, loc)
    schema: Mapping[str, Any] = owner.model_json_schema() if owner else {}
    field = schema.get("properties", {}).get(str(loc[-1]), {})
    parts = [field, *field.get("anyOf", ())]
    found = {words: _bound(parts, names) for words, names in _BOUNDS.items()}
    low, high = found["at least"], found["at most"]
    if low is not None and high is not None:
        return f"from {low} to {high}"
    return " and ".join(f"{words} {bound}" for words, bound in found.items() if bound is not None)


# pydantic writes its own names where a value is checked by a function first.
_BOUNDS = {
    "at least": ("minimum", "ge"),
    "more than": ("exclusiveMinimum", "gt"),
    "at most": ("maximum", "le"),
    "less than": ("exclusiveMaximum", "lt"),
}


def _bound(parts: Iterable[Mapping[str, Any]], names: tuple[str, ...]) -> Any:
    return next((part[name] for part in parts for name in names if name in part), None)


def _owner(model: type[BaseModel], loc: Loc) -> type[BaseModel] | None:
    """The model that has the key at `loc`."""
    return next((one for one in _models_at(model, loc[:-1]) if str(loc[-1]) in one.model_fields), None)


def _models_at(model: type[BaseModel], loc: Loc) -> tuple[type[BaseModel], ...]:
    models = _models(model)
    pattern: Loc = ()
    for part in loc:
        step = _ITEM if isinstance(part, int) else part
        any_key = (*pattern, _ANY_KEY)
        under_any_key = any(known[: len(any_key)] == any_key for known in models)
        pattern = any_key if under_any_key and isinstance(part, str) else (*pattern, step)
    return models.get(pattern, ())


@lru_cache(maxsize=16)
def _models(model: type[BaseModel]) -> dict[Loc, tuple[type[BaseModel], ...]]:
    """Every model of the format with the pattern of its path. At one place there may be several."""
    models: dict[Loc, tuple[type[BaseModel], ...]] = {}
    for pattern, found in _walk(model, ()):
        models[pattern] = (*models.get(pattern, ()), found)
    return models


def _walk(
    model: type[BaseModel], pattern: Loc, above: frozenset[type[BaseModel]] = frozenset()
) -> Iterator[tuple[Loc, type[BaseModel]]]:
    yield pattern, model
    for name, field in model.model_fields.items():
        for below, inner in _inner(field.annotation, (*pattern, name)):
            # A model within itself says nothing that isn't known already.
            if inner not in above and inner is not model:
                yield from _walk(inner, below, above | {model})


def _inner(annotation: Any, pattern: Loc) -> Iterator[tuple[Loc, type[BaseModel]]]:
    """The models within a type: behind unions, `Annotated`, lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield pattern, annotation
        return
    origin = getattr(annotation, "__origin__", None)
    step: Loc = (_ITEM,) if origin in (tuple, list) else (_ANY_KEY,) if origin is dict else ()
    for argument in get_args(annotation):
        yield from _inner(argument, (*pattern, *step))
