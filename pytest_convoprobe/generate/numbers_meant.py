"""Which numbers of a conversation say who or what is meant: orders, tickets, keys. Amounts and dates stay."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Three digits and more. Bounded, as a line of dashes would be looked through again from each of them.
_CODE = re.compile(r"(?<![\w.])(?=[\w-]{0,40}\d{3})[A-Za-z]{0,8}[-_]?\d[\w-]*(?![\w.]*\d)")
_YEAR = re.compile(r"(19|20)\d\d")
_DATE = re.compile(r"\d{4}-\d{1,2}(-\d{1,2}(T\w*)?)?|\d{1,2}-\d{1,2}-\d{4}")
_CURRENCY = r"[$€£¥₹₩]|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|INR|CNY|SEK|NOK|DKK|PLN)\b"
_BEFORE = re.compile(
    rf"(?:(?:{_CURRENCY})\s?|\d[,.'/:]"
    r"|\b\w*(?:price|amount|total|cost|sum|fee|balance|quantity|count|refund|tax|discount|weight|distance"
    r"|duration|limit|salary|budget)s?['\"]?(?:\s*[:=]|\s+(?:is|of|was))?\s*)$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"\s?(?:{_CURRENCY}|[%°])|[,.'/:]\d"
    r"|\s?(?:euros?|dollars?|pounds?|cents?|ml|l|g|kg|mg|km|m|cm|mm|miles?|meters?|metres?|grams?|litres?"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|people|persons?|items?|pieces?|units?|points?|times"
    r"|words?|characters?|watts?|kwh|[km]b|gb|degrees?)\b",
    re.IGNORECASE,
)
_LOOKED_AT = 30


def identifying(text: str) -> Iterator[str]:
    """The numbers and codes that name something, as they are in the text."""
    found = [(match[0], _is_amount(text, match)) for match in _CODE.finditer(text)]
    # What is an amount in one place means the same in the others.
    amounts = {code for code, is_amount in found if is_amount}
    yield from dict.fromkeys(code for code, _ in found if code not in amounts)


def _is_amount(text: str, match: re.Match[str]) -> bool:
    code = match[0]
    if _YEAR.fullmatch(code) or _DATE.fullmatch(code):
        return True
    if re.fullmatch(r"\d+[a-zA-Z]{1,4}", code):  # `250ml`
        return _AFTER.fullmatch(code.lstrip("0123456789")) is not None
    if not code.isdigit():
        return False
    before = text[max(0, match.start() - _LOOKED_AT) : match.start()]
    return bool(_BEFORE.search(before) or _AFTER.match(text[match.end() :][:_LOOKED_AT]))
