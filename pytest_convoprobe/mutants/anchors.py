"""What a criterion and its evidence have in common: words and numbers, in any language.

A criterion whose evidence names nothing of it ("The agent is polite") is met by many other words. Nobody can
be sure that taking away one of them breaks it, so no mutant is claimed for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ..judging.evidence import SPACELESS
from .numbers import numbers_in

_WORD = re.compile(rf"[^\W\d_{SPACELESS}]+")
_DENSE = re.compile(f"[{SPACELESS}]+")
_HIRAGANA = range(0x3041, 0x30A0)
_SHORTEST = 3
_STEM = 4
_GRAM = 3
_ALIKE = 0.5

_SAYS_NOTHING = frozenset(
    """
    agent agents assistant user users customer customers caller bot model system chatbot
    the and that this these those with from for has have had was were are not but you your they them their its
    what which who whom when where why how any all can could will would shall should may might must does did
    been being than then there here into about after before only also very just some more most other please
    says say said tells tell told asks ask asked names name named states state informs explains mentions gives
    answers offers calls uses makes replies reply message conversation turn correct right
    der die das den dem des ein eine einen und oder mit von für ist sind hat nicht dass sich auf bei
    les des une dans pour avec est sont que qui pas sur aux ses
    los las una con por para que del son est sus
    """.split()
)


def anchors_of(criterion: str, quote: str) -> frozenset[str]:
    """What a quote takes up from a criterion: numbers, stems of words, pairs of characters without spaces."""
    shared = _marks(criterion) & _marks(quote)
    return shared | (numbers_in(criterion) & numbers_in(quote))


def names_all(anchors: Iterable[str], text: str) -> bool:
    """Whether a text takes up every anchor."""
    return frozenset(anchors) <= _marks(text) | numbers_in(text)


def is_named_in(tool: str, text: str) -> bool:
    """Whether a text has every word of a tool's name, of which there are two or more: `cancel_order`."""
    words = _marks(re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", " ", tool))
    return len(words) > 1 and words <= _marks(text)


def is_alike(quote: str, text: str) -> bool:
    """Whether a text says much of what a quote says, in nearly the same words."""
    wanted, there = _grams(quote), _grams(text)
    return bool(wanted) and len(wanted & there) >= _ALIKE * len(wanted)


def _marks(text: str) -> frozenset[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = (word for word in _WORD.findall(folded) if len(word) >= _SHORTEST and word not in _SAYS_NOTHING)
    # The first letters stand for all forms of a word: ship, ships, shipped.
    stems = {word[:_STEM] for word in words}
    pairs = {run[at : at + 2] for run in _DENSE.findall(folded) for at in range(len(run) - 1)}
    # Endings of Japanese are in hiragana, and every sentence has them.
    return frozenset(stems | {pair for pair in pairs if not any(ord(one) in _HIRAGANA for one in pair)})


def _grams(text: str) -> set[str]:
    plain = "".join(one for one in unicodedata.normalize("NFKC", text).casefold() if one.isalnum())
    return {plain[at : at + _GRAM] for at in range(max(1, len(plain) - _GRAM + 1))} if plain else set()
