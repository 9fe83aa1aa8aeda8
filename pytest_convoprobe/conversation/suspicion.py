"""Which simulated messages the English rules of the guard can't judge, so that a model is asked about them.

It knows no language but English: what isn't English, and isn't visibly an answer, is suspect. So a new
language needs no change here, and an English conversation costs no more calls than before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..transcript import Turn, with_user

# English words that are rare in other languages: one among ten is enough.
_ENGLISH = frozenset(
    """
    the you your yours and that this these those with has been what when where which who why how would can
    could should shall may might must not don't doesn't didn't isn't can't won't it it's i'm i've i'd i'll
    my their them there they from but because about after before than any some thanks thank please yes yeah
    sure sorry need know give tell like see good great perfect nothing something anything anyone everything
    only already again also very much other another one two three four five six seven eight nine first we're
    let's out down back into between while until without does did done never always maybe really right well
    what's there's that's you're tomorrow today yesterday goodbye bye call feel free address street city
    got new being day want more here number

    cancel cancelled book booking booked flight refund refunded return order ordered parcel delivery
    account weather payment pay paid price money card seat window room table night cheap cheaper nice cool
    correct exactly absolutely definitely confirm confirmed deal whatever later sooner early late near nearby
    monday tuesday wednesday thursday friday saturday sunday january february march july october december
    cash blue green yellow white black brown small large big bigger smaller medium colour color male female
    send show find make take try keep leave buy check change open close stop wait talk speak write read work
    vegetarian vegan chicken milk water people person adult adults child children birthday question answer
    wrong lost broken missing cheers nope none neither both either enough
    """.split()
)
_ENGLISH_SHARE = 0.1
# Words of English and of other languages: only many of them speak for English.
_SHARED = frozenset(
    """
    a all am an are as at be by date do fine for get go had have he help her him i if in is just last me
    mine month name no now of off on or our over same she so still such than then to under up us
    was we week were will year
    """.split()
)
_SHARED_SHARE = 0.5
# What people say in many languages. It says nothing about theirs, and nothing that only an assistant says.
_ANYWHERE = frozenset("ok okay hm hmm mm mhm uh um oh ah hi hey hello lol wow stop".split())
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

    `facts` are what the user may tell: in an English talk, a message with a word or number of them, and
    without a question, is an answer.
    """
    text = text.replace("\u2019", "'")
    words = _words(text)
    if _sounds_english(words):
        return False
    # In another language the facts share everyday words with goodbyes and slips, which no rule finds there.
    if _is_answer(text, facts) and not _speaks_another_language(turns):
        return False
    if len(words) >= _FEW_WORDS or _QUESTION_MARK.search(text) or _has_foreign_letters(text):
        return bool(words)
    # Too short to know: with a number it is an answer, and else what the user said before shows its language.
    return bool(words) and not _NUMBER.search(text) and _speaks_another_language(turns)


def is_english(text: str) -> bool:
    """Whether a text has enough words that are rare in other languages."""
    return _sounds_english(_words(text.replace("\u2019", "'")))


def _speaks_another_language(turns: Sequence[Turn]) -> bool:
    """For a message that is too short to know: in which language the user spoke before, or just before."""
    before = [word for turn in turns for word in _words(turn.user)]
    said = with_user(turns)
    last = _words(said[-1].user) if said else []
    foreign = len(before) >= _FEW_WORDS and not _sounds_english(before)
    return foreign or (bool(last) and not _sounds_english(last))


def _words(text: str) -> list[str]:
    words = (word.casefold() for word in _WORD.findall(_ADDRESS.sub(" ", text)))
    return [word for word in words if word not in _ANYWHERE]


def _sounds_english(words: Sequence[str]) -> bool:
    english = sum(word in _ENGLISH for word in words)
    shared = sum(word in _SHARED for word in words)
    if not words:
        return False
    return english >= _ENGLISH_SHARE * len(words) or english + shared > _SHARED_SHARE * len(words)


def _has_foreign_letters(text: str) -> bool:
    return any(ord(letter) > 0x7F and letter.isalpha() for letter in text)


def _is_answer(text: str, facts: Sequence[str]) -> bool:
    """Whether it gives one of the facts, or data with a number in it, such as an address."""
    if _QUESTION_MARK.search(text):
        return False
    known = {token.casefold() for fact in facts for token in _TOKEN.findall(fact)}
    said = {token.casefold() for token in _TOKEN.findall(text)}
    return bool(_NUMBER.search(text)) or any(len(token) >= _FACT_WORD for token in known & said)
