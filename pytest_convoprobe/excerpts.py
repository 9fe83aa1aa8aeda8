"""What people and models are shown of data and of long texts: no binary content, and no more than fits.

What decides is often at the end of a result, or behind an image. So binary content is replaced by its type
and size, and what is still too long is cut value by value and in the middle. Each cut has a mark with the
number of characters or items that are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from .formatting import counted, size

T = TypeVar("T")

TEXT_LIMIT = 20_000
"""The most characters of one message, result or list of arguments that a model or a page is shown."""

_LEAST_DATA_URI = 64
_LEAST_BASE64 = 400
_LEAST_BYTES = 64
_SMALLEST_VALUE = 40
_DEEPEST = 60

_BASE64 = r"[A-Za-z0-9+/_-]"
_LINE_BREAK = r"(?:\r?\n|\\n|\\r\\n)"
_DATA_URI = re.compile(
    rf"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]+)*;base64,"
    rf"(?P<data>{_BASE64}{{{_LEAST_DATA_URI},}}(?:{_LINE_BREAK}{_BASE64}{{20,}})*"
    # The last line may be short; only the sign at its end tells it from a word.
    rf"(?:{_LINE_BREAK}{_BASE64}{{1,20}}(?==))?={{0,2}})"
)
_ENCODED_URI = re.compile(
    r"data:(?P<type>[\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*,(?P<data>[^\s\"'<>)]{200,})"
)
_RUN = re.compile(
    rf"(?<!{_BASE64})(?:{_BASE64}{{{_LEAST_BASE64},}}|(?:{_BASE64}{{60,}}{_LINE_BREAK}){{5,}}{_BASE64}*)={{0,2}}"
)
# How the base64 of well-known types begins.
_BEGINNINGS = {
    "iVBORw0KGg": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": "application/pdf",
    "UEsDB": "application/zip",
    "H4sI": "application/gzip",
    "SUQz": "audio/mpeg",
}
_DIFFERENT = 20


def as_text(value: Any) -> str:
    """A tool's result as text: text as it is, other values as JSON."""
    return value if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Any value as JSON, or its repr if JSON cannot express it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_unknown)
    except (TypeError, ValueError, RecursionError):
        return _shown(value)


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - an object's own words, or a number that has too many digits
        return f"(a {type(value).__name__} that can't be shown)"


def _unknown(value: object) -> str:
    return _of_bytes(value) if isinstance(value, (bytes, bytearray)) else _shown(value)


def without_binary(value: Any) -> Any:
    """The value with `[image/png, 30 kB]` in place of data URIs, long base64 and bytes."""
    return _changed(value, _text_without_binary)


def whole_text(value: Any) -> str:
    """All of the value as text, without binary content."""
    # As text and not value by value: a result may be a million rows.
    return _text_without_binary(as_text(value))


def fitting(value: Any, limit: int = TEXT_LIMIT) -> str:
    """The value as text without binary content, at most `limit` characters of it.

    A text stays as it is if it fits. Of JSON, long values and the middle of long lists are left out first, so
    that every key and every short value is seen; a text loses its middle.
    """
    if isinstance(value, str) and len(value) > limit:
        return _fitting_text(value, limit)
    return _fitting(value, limit)


# Every call of a model has all turns in it: of a text that is long, the same is cut again and again.
@lru_cache(maxsize=32)
def _fitting_text(text: str, limit: int) -> str:
    return _fitting(text, limit)


def _fitting(value: Any, limit: int) -> str:
    text = whole_text(value)
    if len(text) <= limit:
        return text
    data = _parsed(value)
    longest = limit // 4
    while data is not None and longest >= _SMALLEST_VALUE:
        shown = as_json(_shortened(data, longest))
        if len(shown) <= limit:
            return shown
        longest //= 2
    return cut_middle(text, limit)


def cut_middle(text: str, limit: int) -> str:
    """The start and the end of the text with a mark between them, together at most `limit` characters."""
    if len(text) <= limit:
        return text
    mark = left_out_mark(len(text) - limit, "character")
    room = max(2, limit - len(mark) - 4)
    start, end = text[: room - room // 3], text[-(room // 3) :]
    return f"{start.rstrip()} {left_out_mark(len(text) - len(start) - len(end), 'character')} {end.lstrip()}"


def left_out_mark(number: int, thing: str) -> str:
    """`… (1,200 characters left out) …`, in place of what is left out."""
    return f"… ({counted(number, thing)} left out) …"


def _parsed(value: Any) -> Any:
    """The data of a value that is JSON, as data or as text; None for other texts."""
    if not isinstance(value, str):
        return value if isinstance(value, (Mapping, list, tuple)) else None
    if not value.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _shortened(data: Any, longest: int) -> Any:
    """The data with texts of at most `longest` characters, and with few enough items for that."""
    return _changed(data, lambda text: _shortened_text(text, longest), max(4, longest // 8))


def _shortened_text(text: str, longest: int) -> str:
    """Many tools return JSON inside a text of JSON: its values are cut one by one, too."""
    text = _text_without_binary(text)
    data = _parsed(text) if len(text) > longest else None
    return cut_middle(text, longest) if data is None else as_json(_shortened(data, longest))


def _changed(value: Any, change: Callable[[str], str], most: int | None = None, depth: int = 0) -> Any:
    """A copy in which every text is changed; lists and mappings have at most `most` items, if given."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (bytes, bytearray)):
        return _of_bytes(value) if len(value) >= _LEAST_BYTES else value
    if depth > _DEEPEST or not isinstance(value, (Mapping, list, tuple)):
        return value
    # Cut first: of a million rows, only those that stay are looked at.
    if isinstance(value, Mapping):
        pairs = _ends(list(value.items()), most, lambda gone: ("…", left_out_mark(gone, "key")))
        return {key: _changed(item, change, most, depth + 1) for key, item in pairs}
    items = _ends(list(value), most, lambda gone: left_out_mark(gone, "item"))
    return [_changed(item, change, most, depth + 1) for item in items]


def _ends(items: list[T], most: int | None, mark: Callable[[int], T]) -> list[T]:
    """The first and the last items, with a mark between them for the others."""
    if most is None or len(items) <= most:
        return items
    end = most // 3
    return [*items[: most - end], mark(len(items) - most), *items[len(items) - end :]]


def _text_without_binary(text: str) -> str:
    if len(text) < _LEAST_DATA_URI:
        return text
    if "data:" in text:
        text = _DATA_URI.sub(lambda found: _of_base64(found["data"], found["type"] or ""), text)
        text = _ENCODED_URI.sub(lambda found: _placeholder(found["type"], len(found["data"])), text)
    return text if len(text) < _LEAST_BASE64 else _RUN.sub(_run, text)


def _run(found: re.Match[str]) -> str:
    """A long word is binary content if it is as mixed as base64 is; a row of dashes is not."""
    data = found[0]
    kinds = (str.isupper, str.islower, str.isdigit)
    mixed = len(set(data)) >= _DIFFERENT and all(any(map(kind, data)) for kind in kinds)
    return _of_base64(data, "") if mixed else data


def _of_bytes(data: bytes | bytearray) -> str:
    return _placeholder("", len(data)) if len(data) >= _LEAST_BYTES else repr(data)


def _of_base64(data: str, kind: str) -> str:
    named = kind or next((name for start, name in _BEGINNINGS.items() if data.startswith(start)), "")
    return _placeholder(named, len(data) * 3 // 4)


def _placeholder(kind: str, length: int) -> str:
    return f"[{kind or 'binary data'}, {size(length)}]"
