"""How much is kept of a text or a value from outside: what an agent, a tool or a provider gave.

It is cut where it comes in, in the thread or on the loop of whoever gave it, so that nothing later handles
megabytes. `at_most` sets the limit for the block in it, and `noticed` says whether something was cut.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from .excerpts import cut_middle, left_out_mark

T = TypeVar("T")

MOST_TEXT = 1_000_000
"""The default of the setting `run.max_text`, in characters."""

MOST_CALLS = 10_000
"""How many tool calls one answer may have."""

# A body has more in it than the text that is kept: escapes of JSON (six bytes for a letter), fields that
# nobody reads. A small limit of a text must not refuse an ordinary body.
_WHOLE_FACTOR = 32
_LEAST_WHOLE = 10_000_000
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{4,}")
_SHORT = 200
# What a number, true, false or null counts for, in characters.
_NUMBER = 8
# Well below the depth at which Python's own recursion ends.
_DEEPEST = 100

TOO_DEEP = "… (nested too deeply) …"
"""In place of a part of data that is too many levels down."""


@dataclass
class _Limit:
    most: int
    cuts: int = 0


# Not an argument of each reader: every one of them, down to the text of one tool call, would hand it on.
_LIMIT: ContextVar[_Limit | None] = ContextVar("convoprobe_limit", default=None)


@contextlib.contextmanager
def at_most(most: int) -> Iterator[None]:
    """Within the block, `cut_text` and `cut_data` keep at most this many characters of one text or value."""
    token = _LIMIT.set(_Limit(most))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def noticed(make: Callable[[], T]) -> tuple[T, bool]:
    """What `make` gives, and whether anything was cut meanwhile."""
    limit = _limit()
    token, before = _LIMIT.set(limit), limit.cuts
    try:
        return make(), limit.cuts > before
    finally:
        _LIMIT.reset(token)


def cut_text(text: str) -> str:
    """The text, or its start and its end with a mark between them that counts what is left out."""
    limit = _limit()
    if len(text) <= limit.most:
        return text
    limit.cuts += 1
    return cut_middle(text, limit.most)


def cut_end(text: str, unread: int) -> str:
    """A text of which this many characters more came, which nobody kept."""
    if unread:
        _limit().cuts += 1
    return f"{text} {left_out_mark(unread, 'character')}" if unread else text


def cut_data(value: Any) -> Any:
    """Data of JSON (mappings, lists, texts, numbers) as it is, or as much of it as fits.

    Every short value is kept as long as there is room. Long texts lose their middle first, then lists and
    mappings their ends.
    """
    limit = _limit()
    if isinstance(value, str):
        return cut_text(value)
    if not isinstance(value, (dict, list)) or _size(value, limit.most) <= limit.most:
        return value
    limit.cuts += 1
    return _Cutter(limit.most).kept(value)


def not_too_many(calls: Iterable[T]) -> Iterator[T]:
    """The tool calls of an answer. Raises `ValueError` for more than anybody makes.

    They aren't cut: no check could say then that a tool was not called.
    """
    for number, call in enumerate(calls):
        if number == MOST_CALLS:
            raise ValueError(f"the answer has more than the {MOST_CALLS:,} tool calls that are read")
        yield call


def note_cut() -> None:
    """Have `noticed` know that something was left out."""
    _limit().cuts += 1


def most_text() -> int:
    """How many characters of one text or value are kept here."""
    return _limit().most


def most_bytes(most: int) -> int:
    """How many bytes of an answer may come in, unpacked: it has more in it than the text that is kept.

    An answer in JSON can't be cut before it was read.
    """
    return max(_LEAST_WHOLE, most * _WHOLE_FACTOR)


def exceeds(data: list[Any], most: int) -> bool:
    """Whether data of JSON has more than about this many characters."""
    return _size(data, most) > most


def without_addresses(text: str) -> str:
    """What Python shows of an object (`<Foo object at 0x7f3a…>`), the same in each run."""
    return _ADDRESS.sub("", text)


def _limit() -> _Limit:
    return _LIMIT.get() or _Limit(MOST_TEXT)


def _size(value: Any, most: int) -> int:
    """About how many characters the data has; not counted to the end once there are more than `most`."""
    size, waiting = 0, [value]
    while waiting and size <= most:
        item = waiting.pop()
        if isinstance(item, str):
            size += len(item) + 2
        elif isinstance(item, dict):
            size += sum(len(key) for key in item) + 4 * len(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            size += 2 * len(item)
            waiting.extend(item)
        else:
            size += _NUMBER
    return size


class _Cutter:
    """Copies data until there is no more room."""

    def __init__(self, room: int) -> None:
        self._room = room

    def kept(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (dict, list)):
            if depth > _DEEPEST:
                return TOO_DEEP
            return self._mapping(value, depth) if isinstance(value, dict) else self._list(value, depth)
        self._room -= _NUMBER
        return value

    def _text(self, text: str) -> str:
        # Half of what is left at most: a status behind a megabyte of an image still has its place.
        shown = text if len(text) <= _SHORT else cut_middle(text, max(_SHORT, self._room // 2))
        self._room -= len(shown) + 2
        return shown

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for number, (key, item) in enumerate(value.items()):
            if self._room <= 0:
                found["…"] = left_out_mark(len(value) - number, "key")
                break
            found[self._text(str(key))] = self.kept(item, depth + 1)
        return found

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        found = []
        for number, item in enumerate(value):
            if self._room <= 0:
                found.append(left_out_mark(len(value) - number, "item"))
                break
            found.append(self.kept(item, depth + 1))
        return found
