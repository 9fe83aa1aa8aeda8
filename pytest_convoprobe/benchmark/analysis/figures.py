"""What the files of results are written with: numbers, intervals, and text that people can read."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from ...stats import Interval

T = TypeVar("T")

_DIGITS = 6
_WIDE = 220


def rounded(value: float | None) -> float | None:
    """A number as it is in a file."""
    return None if value is None else round(value, _DIGITS)


def ends(interval: Interval | None) -> list[float | None] | None:
    """An interval as it is in a file: its low and its high end."""
    return None if interval is None else [rounded(interval.low), rounded(interval.high)]


def _interval(data: object) -> object:
    return Interval(*data) if isinstance(data, (list, tuple)) and len(data) == 2 else data


Number = Annotated[float, PlainSerializer(rounded)]
Ends = Annotated[Interval, BeforeValidator(_interval), PlainSerializer(ends)]


class Stored:
    """A data class that is written to a file: pydantic makes its JSON from the types of its fields."""

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = adapter(type(self)).dump_python(self, mode="json", by_alias=True)
        return data


def adapter(kind: type[T]) -> TypeAdapter[T]:
    """Reads and writes a data class. Making one takes some milliseconds, so each is made once."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def json_text(data: Any) -> str:
    """Plain data as JSON for people: what fits on a line is on one line.

    UTF-8 cannot encode lone surrogates (one half of a character), so these are escaped.
    """
    return (_lines(data) + "\n").encode("utf-8", "backslashreplace").decode("utf-8")


def _lines(data: Any, indent: str = "") -> str:
    line = json.dumps(data, ensure_ascii=False)
    if not data or not isinstance(data, (dict, list)) or len(indent) + len(line) <= _WIDE:
        return line
    deeper = indent + "  "
    named = isinstance(data, dict)
    inner = [
        f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_lines(data[key], deeper)}"
        if named
        else deeper + _lines(key, deeper)
        for key in data
    ]
    return ("{" if named else "[") + "\n" + ",\n".join(inner) + f"\n{indent}" + ("}" if named else "]")
