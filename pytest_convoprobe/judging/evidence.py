"""Whether a quote is in the turn that the judge names. Pure functions.

Models do not copy exactly: they change quote marks, dashes and spaces, and put an ellipsis in the middle.
Such differences are accepted; different words are not. A quote must also say something: a lone "the" or
"assistant:" is in every conversation and proves nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ..text import visible

_LONGEST = 20_000
"""The most characters of a quote. To look for a longer one takes long, and nobody quotes a whole document."""

# How much longer a text may become by NFKC before it is compared as it is.
_MOST_GROWTH = 3


@dataclass(frozen=True)
class Located:
    """A quote that was found, with the turn that really contains it."""

    quote: str
    turn: int


@dataclass(frozen=True)
class NotFound:
    """Why a quote is not evidence, in words that the judge can act on.

    `turns` have the quote, where it isn't clear which is meant; `others` have it in the words of somebody
    else.
    """

    why: str
    turns: tuple[int, ...] = ()
    others: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sources:
    """What can be quoted: the texts of each turn, by its number.

    `spellings` keeps each text in the one spelling that quotes are looked up in; several sources may share
    it.
    """

    texts: Mapping[int, tuple[str, ...]]
    spellings: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def prepare(self) -> None:
        """Bring the texts to one spelling now, since that takes time."""
        _ = self._normal

    def locate(self, quote: str | None, turn: int | None) -> Located | NotFound:
        """Find the quote in the named turn, or in another one if only one contains it."""
        quote = (quote or "").strip()
        if len(quote) > _LONGEST:
            return NotFound("the quote is far too long: quote the one sentence that counts")
        if is_trivial(quote):
            return NotFound("the quote is empty or says nothing" if quote else "there is no quote")
        variants = {tuple(_parts(quote)), tuple(_parts(_without_labels(quote)))}
        found = [number for number, texts in self._normal.items() if _is_in(variants, texts)]
        if turn in found:
            return Located(quote, turn)
        if len(found) == 1:
            return Located(quote, found[0])
        return NotFound(_why_not(quote, turn, found), tuple(found))

    @cached_property
    def _normal(self) -> dict[int, set[str]]:
        """The normalised texts: as they are, and as the judge sees them, with escaped control characters."""
        return {
            number: {self._spelled(text) for piece in pieces for text in {piece, visible(piece)}}
            for number, pieces in self.texts.items()
        }

    def _spelled(self, text: str) -> str:
        if text not in self.spellings:
            self.spellings[text] = _normal(text)
        return self.spellings[text]


def is_trivial(quote: str | None) -> bool:
    """Whether the quote is missing, or too little to prove anything."""
    return not any(map(_says_something, _parts(quote or "")))


def _why_not(quote: str, turn: int | None, found: list[int]) -> str:
    if found:
        turns = " and ".join(map(str, found))
        return f"the quote {quote!r} is in turns {turns}: name the one that you mean"
    where = "in any turn" if turn is None else f"in turn {turn} or in any other turn"
    return f"the quote {quote!r} is not {where}: copy it word for word"


def _is_in(variants: Iterable[tuple[str, ...]], texts: Iterable[str]) -> bool:
    """Whether one of the texts contains all parts of a variant of the quote, in order."""
    return any(_in_order(parts, text) for text in texts for parts in variants)


def _in_order(parts: tuple[str, ...], haystack: str) -> bool:
    start = 0
    for part in parts:
        place = _find(part, haystack, start)
        if place < 0:
            return False
        start = place + len(part)
    return any(map(_says_something, parts))


# Characters of scripts without spaces between words: there, a quote may begin anywhere.
SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# An underscore is not part of a word here, because it is trimmed from the ends of a quote.
_WORD = rf"[^\W_{SPACELESS}]"


def _find(part: str, text: str, start: int) -> int:
    """Where the part begins, as whole words and numbers only: not "able" in "unable", not "5" in "1.5".

    -1 if it is nowhere. No expression is made of the part: to compile one takes longer than to judge a reply.
    """
    before, after = _before(_kind(part[0])), _after(_kind(part[-1]))
    place = text.find(part, start)
    while place >= 0:
        # The next place that is not inside a word: in a long row of letters, one by one would take long.
        free = before.search(text, place)
        if free is None:
            return -1
        if free.start() == place and after.match(text, place + len(part)):
            return place
        place = text.find(part, max(free.start(), place + 1))
    return -1


def _kind(character: str) -> tuple[bool, bool]:
    """Whether it is part of a word, and of a number."""
    return _is_word().match(character) is not None, character.isdigit()


# Compiled for the first quote and kept: the set of characters is large, and most runs need few of these.
@lru_cache(maxsize=1)
def _is_word() -> re.Pattern[str]:
    return re.compile(_WORD)


@lru_cache(maxsize=4)
def _before(kind: tuple[bool, bool]) -> re.Pattern[str]:
    """Matches where something of this kind may begin."""
    word, number = kind
    return re.compile((rf"(?<!{_WORD})" if word else "") + (r"(?<!\d[.,])" if number else ""))


@lru_cache(maxsize=4)
def _after(kind: tuple[bool, bool]) -> re.Pattern[str]:
    """Matches where something of this kind may end."""
    word, number = kind
    return re.compile((rf"(?!{_WORD})" if word else "") + (r"(?![.,]\d)" if number else ""))


_ELLIPSIS = re.compile(r"[\[(]\s*\.{3,}\s*[\])]|\.{3,}")


def _parts(quote: str) -> list[str]:
    """The normalised pieces between ellipses, without punctuation around them."""
    pieces = (_trimmed(_normal(piece)) for piece in _ELLIPSIS.split(quote.replace("…", "...")))
    return [piece for piece in pieces if piece]


def _trimmed(text: str) -> str:
    """Remove punctuation and spaces around the text. Symbols such as € and ° are part of the text."""
    start, end = 0, len(text)
    while start < end and _is_punctuation(text[start]):
        start += 1
    while end > start and _is_punctuation(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_punctuation(character: str) -> bool:
    return character.isspace() or unicodedata.category(character).startswith("P") or character in "|<>"


_DROPPED = re.compile("[\"'`\u00b4\\\\*\u2018-\u201f\u2039\u203a\u00ab\u00bb\u300c-\u300f]")
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")


def _normal(text: str) -> str:
    """One spelling for all: NFKC, lower case, plain dashes, single spaces, no quote marks or emphasis."""
    text = _DASHES.sub("-", _DROPPED.sub("", _COLOUR.sub("", text)))
    plain = unicodedata.normalize("NFKC", text)
    # NFKC makes eighteen characters of some; a text of nothing else would become eighteen megabytes.
    text = (plain if len(plain) <= _MOST_GROWTH * len(text) + _LONGEST else text).casefold()
    if not text.isascii():
        # By the different characters, which are few: the text may be a megabyte.
        text = text.translate({ord(one): None for one in set(text) if unicodedata.category(one) == "Cf"})
    # A second time, because NFKC makes plain marks and dashes of some other characters.
    return " ".join(_DASHES.sub("-", _DROPPED.sub("", text)).split())


_LABEL = re.compile(
    r"^\s*(turn \d+\W*)?(\|\s|(user|agent|assistant|agent calls a tool|the tool (returns|fails)):)?\s*", re.I
)


def _without_labels(quote: str) -> str:
    """The lines of the quote without the labels that the judge's view adds."""
    return "\n".join(_LABEL.sub("", line) for line in quote.split("\n"))


# Single words that occur in every conversation. "Yes" and "no" are answers, so they are not among them.
_EMPTY_WORDS = frozenset(
    "a an and are as at be but by for from i in is it of on or so that the then this to was we with you your "
    "user agent assistant system tool turn none null".split()
)

# What models write if they have no quote.
_NO_QUOTE = frozenset(("n/a", "not applicable", "no quote", "none given", "no evidence"))


def _says_something(part: str) -> bool:
    """Whether the part says something: more than a lone stop-word, a role's label or a single letter."""
    words = re.findall(r"\w+", part)
    if part in _NO_QUOTE or not words:
        return False
    if len(words) == 2 and words[0] == "turn" and words[1].isdigit():
        return False
    if len(words) > 1:
        return True
    return words[0] not in _EMPTY_WORDS and (len(words[0]) > 1 or _says_something_alone(words[0]))


def _says_something_alone(character: str) -> bool:
    return character.isdigit() or re.match(f"[{SPACELESS}]", character) is not None
