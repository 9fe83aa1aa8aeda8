"""Which of the user's known facts were said, as far as their words show it. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from .evidence import SPACELESS

_TOKEN = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_SPACELESS_LETTER = re.compile(f"[{SPACELESS}]")
# "The room is B12", "Room: B12": what distinguishes the fact is behind the sign.
_VALUE = re.compile(r"(?:[:=]|\b(?:is|are|was|were|ist|sind|es|est|\u00e8)\b)(?P<value>.*\w.*)", re.DOTALL)
_LONG = 4


def was_said(fact: str, messages: Iterable[str]) -> bool | None:
    """Whether the messages have the fact's numbers, or else a word of its value; None if code can't tell."""
    if _SPACELESS_LETTER.search(fact):
        return None
    wanted = distinctive(fact)
    if not wanted:
        return None
    said = {token for message in messages for token in tokens(message)}
    return bool(wanted & said)


def never_said(facts: Sequence[str], messages: Sequence[str]) -> tuple[str, ...]:
    """The facts of which no message has a distinctive word or number."""
    return tuple(fact for fact in facts if was_said(fact, messages) is False)


def distinctive(text: str) -> set[str]:
    """The numbers in it, or else the longer words behind `:`, `=` or `is`, or else all longer words."""
    numbers = {token for token in tokens(text) if any(map(str.isdigit, token))}
    if numbers:
        return numbers
    value = _VALUE.search(text)
    words = tokens(value["value"]) if value else set()
    return {word for word in words if len(word) > 1} or {word for word in tokens(text) if len(word) >= _LONG}


def tokens(text: str) -> set[str]:
    """The words and numbers of a text in small letters; `12` is in `12th` and in `B12` too."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return {*_TOKEN.findall(plain), *_NUMBER.findall(plain)}
