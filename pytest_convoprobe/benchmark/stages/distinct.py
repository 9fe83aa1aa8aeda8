"""How alike two texts are, by the words that they share: what counts as the same again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Scripts that put no blanks between words: each character counts as a word.
_SCRIPTS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SCRIPTS}]|[^\W_{_SCRIPTS}]+")
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")

# Words that any two sentences of a kind have in common; they say nothing of what the sentence is about.
_COMMON = frozenset(
    "a an the and or but nor so if then than that this these those it its to of in on at by for from with "
    "without as is are was be been being do does did has have had not no any some all they them their you "
    "your he she his her i me my we our user users assistant assistants agent model ai person someone "
    "who what which when where how why while about into after before will would can could may might".split()
)


def words(text: str) -> list[str]:
    """The words of a text in small letters, in order; `don't` is one word."""
    plain = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).casefold())
    return _WORD.findall(plain)


def content_words(text: str) -> frozenset[str]:
    """The words that say what a text is about; all of its words if none does."""
    found = frozenset(words(text))
    return found - _COMMON or found


def shingles(text: str, size: int = 2) -> frozenset[tuple[str, ...]]:
    """All runs of `size` words that follow one another; the text as a whole if it is shorter."""
    found = words(text)
    if len(found) <= size:
        return frozenset([tuple(found)] if found else [])
    return frozenset(tuple(found[at : at + size]) for at in range(len(found) - size + 1))


def overlap(first: Iterable[object], second: Iterable[object]) -> float:
    """The share of all members of two sets that both have, from 0 to 1 (Jaccard); 0 for two empty ones."""
    one, other = frozenset(first), frozenset(second)
    return len(one & other) / len(one | other) if one or other else 0.0


def same_words(first: str, second: str) -> bool:
    """Whether two texts differ in no more than capitals and punctuation."""
    return words(first) == words(second)
