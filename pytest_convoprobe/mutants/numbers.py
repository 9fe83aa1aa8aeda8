"""Numbers in texts of any language: finding them, and moving them by one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_NUMBER = re.compile(r"\d+(?:[.,:/\-]\d+)*")
"""A whole number, an amount, a time or a date; of `A-1042` the digits alone."""

_DECIMALS = re.compile(r"\d+[.,]\d{1,2}")
_ZEROS = re.compile(r"[.,]0{1,2}$")

_COMPARED = re.compile(
    # A number that is one too large still meets "at least 10".
    r"[<>≤≥±~]|\b(?:at (?:least|most)|(?:more|less|fewer|greater|higher|lower|longer|shorter|later|earlier)"
    r" than|up to|no more|over|under|above|below|between|within|about|around|roughly|approximately|nearly"
    r"|almost|minimum|maximum|before|after|until|since"
    r"|mindestens|höchstens|mehr als|weniger als|über|unter|bis zu|zwischen|etwa|ungefähr|vor|nach|innerhalb"
    r"|au moins|au plus|plus de|moins de|entre|environ|avant|après|jusqu"
    r"|al menos|como máximo|más de|menos de|alrededor|hasta|antes|después"
    r"|almeno|al massimo|più di|meno di|circa|entro|pelo menos|no máximo|mais de|até)\b",
    re.IGNORECASE,
)


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text, each in one spelling: `54.00` is `54`, and digits of any script are ASCII."""
    return frozenset(map(_plain, _NUMBER.findall(text)))


def compares(text: str) -> bool:
    """Whether a text speaks of more, less or about: then another number may meet it as well."""
    return _COMPARED.search(text) is not None


def moved(text: str, numbers: Collection[str]) -> str:
    """The text with these numbers (as `numbers_in` gives them) off by one, in the text's own digits."""
    return _NUMBER.sub(lambda found: _off_by_one(found[0]) if _plain(found[0]) in numbers else found[0], text)


def _plain(number: str) -> str:
    ascii_digits = "".join(str(unicodedata.decimal(one, one)) for one in number)
    return _ZEROS.sub("", ascii_digits)


def _off_by_one(number: str) -> str:
    """The last digit moves; of an amount with decimals the last one before the separator."""
    end = len(number)
    if _DECIMALS.fullmatch(number):
        end = next(place for place, one in enumerate(number) if one in ".,")
    digit = number[end - 1]
    # Without a carry, so that the number keeps its length and looks like the one before.
    step = 1 if unicodedata.decimal(digit) < 9 else -1
    return number[: end - 1] + chr(ord(digit) + step) + number[end:]
