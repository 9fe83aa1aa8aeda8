"""Words of criteria, for rules that compare them or that read English."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_ARTICLES = frozenset("a an the".split())
_NEGATIONS = frozenset("not never no cannot without neither nor".split())
_AUXILIARIES = frozenset("do does did should must shall will can may would could has have to".split())
_AGENTS = frozenset("agent assistant bot chatbot model system it".split())

PEOPLE = "user|customer|client|caller|patient|guest|visitor|shopper|human"
AGENTS = "agent|assistant|bot|chatbot|ai|model|system"


def words_of(text: str) -> list[str]:
    """The words in lower case, with plain apostrophes."""
    folded = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return _WORD.findall(folded)


def core_of(text: str) -> tuple[str, ...]:
    """What two sentences have in common that differ in articles, auxiliaries, endings and negations only."""
    words = [word for raw in words_of(text) for word in _plain(raw)]
    left = [word for word in words if word not in _ARTICLES | _AUXILIARIES | _NEGATIONS]
    return tuple("agent" if word in _AGENTS else word.removesuffix("s") for word in left)


def is_negated(text: str) -> bool:
    """Whether an odd number of English negations is in it."""
    words = [word for raw in words_of(text) for word in _plain(raw)]
    return sum(word in _NEGATIONS for word in words) % 2 == 1


def _plain(word: str) -> list[str]:
    """`doesn't` as `does` and `not`."""
    if word == "can't":
        return ["can", "not"]
    return [word.removesuffix("n't"), "not"] if word.endswith("n't") else [word]
