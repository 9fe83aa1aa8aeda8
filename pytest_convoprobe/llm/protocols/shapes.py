"""Reads data of any shape: each function gives a value of the wanted type, whatever it was given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from ...cutting import MOST_CALLS
from ...outside_json import read_json

MOST_ITEMS = 20_000
"""How many messages, parts or events of one body are read."""

_DEEPEST = 100


def read_data(body: bytes) -> Any:
    """The data of a JSON body. Raises `ValueError` for what isn't JSON, or is nested too deeply."""
    data = read_json(body)
    if _is_deep(data):
        raise ValueError("it is nested too deeply")
    return data


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """The value if it is a list, at most `MOST_ITEMS` of it; else an empty one."""
    if not isinstance(value, list):
        return []
    return value if len(value) <= MOST_ITEMS else value[:MOST_ITEMS]


def mappings(value: Any, most: int = MOST_CALLS) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in listing(value) if isinstance(item, dict)][:most]


def text_of(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def word_of(value: Any) -> str:
    """A text, or a number as text: codes of errors come as both."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(value)


def as_json(value: Any) -> str:
    """The value as the text of JSON, as models write arguments; a text stays as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def digest_of(value: Any) -> str:
    """A short digest of data, the same for objects with their keys in another order."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def all_texts(value: Any) -> Iterator[str]:
    """All texts in data, in their order, without keys."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(_DEEPEST):
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            return False
    return True


def _inside(item: Any) -> list[Any]:
    values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [value for value in values if isinstance(value, (dict, list))]
