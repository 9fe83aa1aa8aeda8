"""JSON that somebody else wrote: whatever it is, reading it gives data or one `ValueError`."""

from __future__ import annotations

import json
from typing import Any

_MOST_DIGITS = 4300
"""Python refuses to convert longer numbers from and to text, since that takes quadratic time."""


def read_json(text: str | bytes) -> Any:
    """The data. A whole number of more than 4,300 digits is the text of its digits.

    Raises `ValueError` for what isn't JSON, or is nested too deeply to be read.
    """
    try:
        return _read(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _read(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        # A number that is too long. Only now, because a function for each number makes the reader slower.
        return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def doubled_key(text: str) -> str | None:
    """A key that an object in a JSON text has twice, as some merges leave it; None if each is there once.

    JSON's reader takes the last one without a word. The text has to be JSON.
    """
    try:
        # Numbers stay text: only the keys count, and long numbers would be refused.
        json.loads(text, object_pairs_hook=_once, parse_int=str, parse_float=str)
    except _Doubled as error:
        return str(error)
    return None


class _Doubled(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Doubled(key)
        found[key] = value
    return found


def digits_of(number: int) -> int:
    """How many decimal digits a number has, give or take one."""
    return number.bit_length() * 30103 // 100000 + 1


def is_too_long(number: int) -> bool:
    """Whether Python refuses to write the number in decimal digits."""
    return digits_of(number) > _MOST_DIGITS
