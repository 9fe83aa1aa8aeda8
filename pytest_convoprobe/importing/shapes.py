"""Values of other tools' files in the shape that they should have, whatever shape they are in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def is_no_list(value: Any) -> bool:
    """Whether there is something, but no list: what it says would be lost without a word."""
    return value not in (None, "", {}) and not isinstance(value, list)
