"""Values of agents and tools as plain data: what JSON and `str` know, cut to a length.

To make them plain runs code of the project (`__str__`, `__repr__`, `__iter__`), so it happens where that
code runs. What comes out runs no such code when it is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

from pydantic_core import to_jsonable_python

from ..cutting import TOO_DEEP, cut_data, cut_text, most_text, note_cut, without_addresses
from ..errors import TargetCrashed
from ..excerpts import cut_middle, left_out_mark
from ..outside_json import digits_of, is_too_long
from ..project_code.tracebacks import describe, short_trace

_DEEPEST = 200
_SHORT = 100


def clean_text(text: str) -> str:
    """The text without lone surrogates, which can be written to no file, and cut if it is too long.

    A plain `str` in any case.
    """
    return cut_text(_encodable(text))


def _encodable(text: str) -> str:
    return str.encode(text, "utf-8", "replace").decode("utf-8")


def plain(value: object) -> Any:
    """The value as JSON knows it; what JSON doesn't know becomes text, and what is too long is cut.

    Raises `TargetCrashed` for a value that can't be shown at all.
    """
    copying = _Copying()
    found = copying.copy(value, ())
    if copying.is_cyclic:
        found = text_of(value)  # Python writes `[...]` where a list contains itself
    return cut_data(found)


class _Copying:
    """Makes lists and mappings plain, and all that is in them, down to a depth and up to a number."""

    def __init__(self) -> None:
        self.is_cyclic = False
        self._room = most_text()

    def copy(self, value: object, holders: tuple[int, ...]) -> Any:
        """`holders` are the ids of the lists and mappings that the value is in."""
        if value is None or type(value) in (bool, int, float, str):
            return _leaf(value)
        if type(value) not in (dict, list, tuple):
            return _plain_object(value)
        self.is_cyclic = self.is_cyclic or id(value) in holders
        if self.is_cyclic or len(holders) > _DEEPEST:
            note_cut()
            return TOO_DEEP
        return self._copy_parts(value, (*holders, id(value)))  # type: ignore[arg-type]

    def _copy_parts(self, value: dict[Any, Any] | list[Any], within: tuple[int, ...]) -> Any:
        # A list that has another one twice, which has another one twice, and so on, soon has billions.
        room, self._room = max(0, self._room), self._room - len(value)
        mark = left_out_mark(len(value) - room, "item") if len(value) > room else ""
        if mark:
            note_cut()
        if isinstance(value, dict):
            found = {_key(key): self.copy(item, within) for key, item in islice(value.items(), room)}
            return {**found, "…": mark} if mark else found
        items = [self.copy(item, within) for item in islice(value, room)]
        return [*items, mark] if mark else items


def _plain_object(value: object) -> Any:
    """What pydantic makes of it: dates, sets, dataclasses, models; all else is its text."""
    try:
        found = to_jsonable_python(value, fallback=_known_to_json, bytes_mode="base64")
    except Exception:  # noqa: BLE001 - objects of the user's: any of their methods may raise anything
        found = text_of(value)
    return _clean(found)


def _known_to_json(value: object) -> object:
    """What an object that pydantic doesn't know is for JSON: `UserDict` and the like are mappings."""
    return dict(value) if isinstance(value, Mapping) else without_addresses(str(value))


def text_of(value: object) -> str:
    """Its text; raises `TargetCrashed` if it has none."""
    try:
        # An address is another one in each run: two reports of the same conversation would differ.
        return without_addresses(str(value))
    except Exception as error:  # noqa: BLE001 - as above
        raise TargetCrashed(
            f"{described(value)} can't be shown: {describe(error)}", trace=short_trace(error)
        ) from None


def _key(key: object) -> str:
    if type(key) is str:
        return clean_text(key)
    found = _plain_object({key: None})
    return next(iter(found)) if isinstance(found, dict) else clean_text(text_of(key))


def _clean(value: Any) -> Any:
    """The data that pydantic gave, of JSON's own types only."""
    if isinstance(value, dict):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else _leaf(value)


def _leaf(value: Any) -> Any:
    if isinstance(value, str):
        # As a whole it is cut where all of the value is known.
        return _encodable(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, int) and not isinstance(value, bool):
        if is_too_long(value):
            raise TargetCrashed(f"a number of about {digits_of(value):,} digits can't be shown")
        return int(value)
    return value


def described(value: object) -> str:
    """What it is, for a message: `an int`, `a mapping with the keys 'answer'`."""
    if isinstance(value, Mapping):
        keys = ", ".join(map(shown, list(value)[:8]))
        return f"a mapping with the keys {keys or '(none)'}"
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        name = type(value).__name__
        return (
            f"a {name} whose first item is a {type(value[0]).__qualname__}" if value else f"an empty {name}"
        )
    kind = type(value)
    # A module of a file is imported under a name of ours, which says nothing to anybody.
    bare = kind.__module__ == "builtins" or kind.__module__.startswith("_convoprobe_")
    name = kind.__qualname__ if bare else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def shown(value: object) -> str:
    """A short repr."""
    try:
        return short_text(without_addresses(repr(value)))
    except Exception:  # noqa: BLE001 - the project's object, whose repr may raise anything
        return type(value).__qualname__


def short_text(text: str) -> str:
    """A text for a message: a long one without its middle."""
    return cut_middle(text, _SHORT)
