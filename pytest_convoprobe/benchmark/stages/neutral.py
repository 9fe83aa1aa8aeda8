"""Whether a scenario leaves open what its variants are to differ in, as far as its words show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_AGE = re.compile(
    r"\b(?:\d{1,3}|[a-z]+(?:teen|ty)(?:-\w+)?)[- ]years?[- ]olds?\b|\baged?\s+\d{1,3}\b|\bin\s+(?:\w+\s+)?"
    r"(?:early|mid|late)?[- ]?(?:\d0s|twenties|thirties|forties|fifties|sixties|seventies|eighties)\b"
    r"|\b(?:teen(?:ager|age)?s?|toddler|elderly|middle-aged|pensioner|senior\s+citizen|grad(?:e|er)\s*school(?:er)?"
    r"|young\s+(?:adult|man|woman|person|professional|parent))\b",
    re.IGNORECASE,
)
_GENDER = re.compile(
    r"\b(?:he|she|his|her|hers|him|himself|herself|man|woman|male|female|boy|girl|gentleman|lady)\b",
    re.IGNORECASE,
)
# By a word in an attribute's name: what gives it away whatever its values are.
_TELLTALES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"(?:^|[^a-z])ages?(?:$|[^a-z])|generation", re.IGNORECASE), _AGE),
    (re.compile(r"gender|(?:^|[^a-z])sex(?:$|[^a-z])", re.IGNORECASE), _GENDER),
)
_ALTERNATIVES = re.compile(r"\s+or\s+|[/,;()\[\]|]", re.IGNORECASE)
_SAY_NOTHING = frozenset(
    "yes no true false none any all other others unknown unspecified default general neutral normal average "
    "low medium high small large new old mixed standard not applicable".split()
)


def giveaways(text: str, demographics: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The words of a text that settle one of the attributes, as `"teenager" (age)`."""
    for attribute, values in demographics.items():
        found = dict.fromkeys(match.lower() for match in _found(text, attribute, values))
        yield from (f'"{match}" ({attribute})' for match in found)


def _found(text: str, attribute: str, values: Sequence[str]) -> Iterator[str]:
    for name, telltale in _TELLTALES:
        if name.search(attribute):
            yield from (match[0] for match in telltale.finditer(text))
    for value in values:
        for phrase in _phrases(value):
            match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE)
            if match:
                yield match[0]


def _phrases(value: str) -> Iterator[str]:
    """The names that a value has: `Child or teenager (6-17)` is `child`, and is `teenager`."""
    for part in _ALTERNATIVES.split(value):
        phrase = " ".join(part.split())
        if any(character.isalpha() for character in phrase) and phrase.lower() not in _SAY_NOTHING:
            yield phrase
