"""Values as JSON holds them, and what readers of stored JSON expect of a value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_DEEPEST = 40
_MOST_BITS = 4096


def plain(value: Any, depth: int = 0) -> Any:
    """What a target or a tool gave, as JSON: what JSON can't hold is written as text.

    Numbers that are not finite become `"NaN"`, `"Infinity"` and `"-Infinity"`; what is nested
    deeper than 40 levels is cut.
    """
    if value is None or isinstance(value, (str, bool)):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MOST_BITS else hex(value)
    if isinstance(value, float):
        return number(value)
    if depth >= _DEEPEST:
        return "… (nested too deeply to be stored)"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    # The results of a run hold plain data only; other programs may make their own.
    return str(value)


def number(value: float | None) -> float | str | None:
    """JSON has no word for numbers that are not finite."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def as_text(value: Any) -> str:
    """The text that a reader expects."""
    # Anything else would break one much later, in the middle of a list of good trials.
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value


def as_whole(value: Any) -> int:
    """The whole number that a reader expects."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r:.40} is not a whole number")
    return value


def as_float(value: Any) -> float | None:
    """A number, or None."""
    return None if value is None else float(value)
