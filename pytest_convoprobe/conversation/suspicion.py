"""Which simulated messages the English rules of the guard can't judge, so that a model is asked about them.

It knows no language but English: what isn't English, and isn't visibly an answer, is suspect. So a new
language needs no change here, and an English conversation costs no more calls than before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..transcript import Turn

# Frequent English words that are rare in other languages: `in`, `is`, `no` or `of` would prove nothing.
_ENGLISH = frozenset(
    """
    the you your yours and that this these those with have has had are were been being what when where
    which who why how will would can could should shall may might must not don't doesn't didn't isn't
    can't won't it it's i'm i've i'd i'll my mine they them their there here from for but because about
    after before then than just any some all thanks thank please yes yeah sure sorry need want know get
    got give tell like see good great perfect nothing something anything anyone everything only still
    already again also very much more other another one two three first last new our we we're let's out
    up back down into over under between while until without does did done never always maybe really
    right fine well that's what's there's you're order number name date day week month tomorrow today
    yesterday help goodbye bye call feel free address street city
    """.split()
)
_ENGLISH_SHARE = 0.1
# Fewer words than this say too little about their language.
_FEW_WORDS = 4
_FACT_WORD = 4

_ADDRESS = re.compile(r"\S+@\S+|\w+://\S+|www\.\S+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_NUMBER = re.compile(r"\d")
_TOKEN = re.compile(r"\w+")
_QUESTION_MARK = re.compile("[?\uff1f\u061f\u037e\u055e\u1367\u2e2e\u203d]")


def suspect(text: str, turns: Sequence[Turn], facts: Sequence[str] = ()) -> bool:
    """Whether a model has to say who would write this message, and whether it is a goodbye.

    `facts` are what the user may tell: a message with a word or number of them, and without a question, is an
    answer.
    """
    text = text.replace("\u2019", "'")
    words = _words(text)
    if _sounds_english(words) or _tells(text, facts):
        return False
    if len(words) >= _FEW_WORDS or _QUESTION_MARK.search(text) or _has_foreign_letters(text):
        return bool(words)
    # Too short to know: with a number it is an answer, and else what the user said before shows its language.
    return bool(words) and not _NUMBER.search(text) and _speaks_another_language(turns)


def _speaks_another_language(turns: Sequence[Turn]) -> bool:
    """For a message that is too short to know: in which language the user spoke before, or just before."""
    before = [word for turn in turns for word in _words(turn.user)]
    last = _words(turns[-1].user) if turns else []
    foreign = len(before) >= _FEW_WORDS and not _sounds_english(before)
    return foreign or (bool(last) and not _sounds_english(last))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(_ADDRESS.sub(" ", text))]


def _sounds_english(words: Sequence[str]) -> bool:
    return bool(words) and sum(word in _ENGLISH for word in words) >= _ENGLISH_SHARE * len(words)


def _has_foreign_letters(text: str) -> bool:
    return any(ord(letter) > 0x7F and letter.isalpha() for letter in text)


def _tells(text: str, facts: Sequence[str]) -> bool:
    """Whether it gives one of the facts."""
    if _QUESTION_MARK.search(text):
        return False
    known = {token.casefold() for fact in facts for token in _TOKEN.findall(fact)}
    said = {token.casefold() for token in _TOKEN.findall(text)}
    return any(len(token) >= _FACT_WORD or token.isdigit() for token in known & said)
