"""What other systems call the fields that say where a row belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .scenario_ids import parts_of

_IDS = ("id", "scenario_id")
_SAMPLES = ("sample", "_sample")


def in_our_words(data: Any) -> Any:
    """A row of anybody's with `id`, `sample` and `metric_id` as we have them, as far as it says them.

    What isn't an object comes back as it is. Numbers of samples stay what they are: others count from 0.
    """
    if not isinstance(data, Mapping):
        return data
    found = {"id": _first(data, _IDS), "sample": _number(_first(data, _SAMPLES))}
    row = {**data, **{name: value for name, value in found.items() if value is not None}}
    by_id = parts_of(row["id"]).metric if isinstance(row.get("id"), str) else ""
    return {**row, "metric_id": by_id} if by_id and row.get("metric_id") is None else row


def _first(data: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _number(value: Any) -> Any:
    """A number that went through a spreadsheet is a text or has a fraction of 0; anything else stays."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
