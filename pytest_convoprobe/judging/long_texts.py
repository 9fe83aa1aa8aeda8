"""Texts that the judge's view shows only in part, and how lines of them are looked up. Pure functions.

A text is numbered by lines as it is kept, without binary content. Longer lines are divided where there is a
space, so that each line can be quoted and the lines together are the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..formatting import counted
from ..text import one_line, shorten, visible
from .facts import tokens
from .passages import Passage
from .types import About

LINE = 400
"""The most characters of one line."""
MOST_SHOWN = 2_000
"""The most characters that one look-up gives."""
_MOST_LINES = 5
_PHRASE = 1000.0
_LONGEST_NAME = 200
_ENDS = ("};|\N{IDEOGRAPHIC FULL STOP}", ",\N{IDEOGRAPHIC COMMA}\N{FULLWIDTH COMMA}")
"""Where a line is divided that has no space, in the order of preference: data, and scripts without spaces."""

_WHOSE = {About.USER: "the user's message", About.AGENT: "the agent's reply"}


@dataclass(frozen=True)
class LongText:
    """One text of the conversation, whole. `what` says which one it is."""

    number: int
    what: str
    turn: int
    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All of it, in lines of at most `LINE` characters."""
        return tuple(part for line in visible(self.text).split("\n") for part in _divided(line))

    @cached_property
    def words(self) -> tuple[set[str], ...]:
        """The words and numbers of each line."""
        return tuple(map(tokens, self.lines))

    @property
    def size(self) -> str:
        """`200,000 characters in 512 lines`."""
        return f"{counted(len(self.text), 'character')} in {counted(len(self.lines), 'line')}"


@dataclass(frozen=True)
class Excerpt:
    """Lines that follow one another; `first` is the number of the first one, from 1."""

    first: int
    lines: tuple[str, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


def long_texts(passages: Iterable[Passage]) -> tuple[LongText, ...]:
    """The texts that the view doesn't show whole, in the order of the conversation."""
    cut = (one for one in passages if _is_cut(one) and not (one.voice is About.AGENT and one.tool))
    return tuple(
        LongText(number, _what(one), one.turn, one.texts[0]) for number, one in enumerate(cut, start=1)
    )


def hidden_voices(passages: Iterable[Passage]) -> frozenset[About]:
    """Of whose words and deeds the view shows only a part."""
    return frozenset(one.voice for one in passages if one.voice is not None and _is_cut(one))


def lines_with(
    text: LongText, words: str, room: int = MOST_SHOWN, *, rare: bool = False
) -> tuple[tuple[Excerpt, ...], int]:
    """The lines with most of the words, each with its neighbours, and how many lines have any.

    The excerpts have at most `room` characters. With `rare`, words that are in many lines find none.
    """
    wanted = _rare(text, tokens(words)) if rare else tokens(words)
    scores = [score for score in _scores(text, words, wanted) if score[0] > 0]
    best = sorted(scores, key=lambda score: (-score[0], score[1]))[:_MOST_LINES]
    return tuple(_excerpts(text, [at for _, at in best], room)), len(scores)


def lines_from(text: LongText, line: int) -> Excerpt:
    """The lines from this number on, as many as one look-up gives; from a number beyond the end, the last."""
    first = min(max(line, 1), len(text.lines))
    return Excerpt(first, tuple(_as_many(text.lines[first - 1 :], MOST_SHOWN)))


def _is_cut(passage: Passage) -> bool:
    """Whether it has a second text: the one that is shown in place of the whole."""
    return len(passage.texts) > 1


def _what(passage: Passage) -> str:
    if passage.tool is not None:
        # On a line of ours, so the name, which anybody may have made up, must not begin another one.
        return f"the call of {shorten(visible(one_line(passage.tool)), _LONGEST_NAME)} and what it returned"
    return _WHOSE.get(passage.voice, "a text") if passage.voice else "a text"


def _divided(line: str) -> Iterator[str]:
    while len(line) > LINE:
        end = line.rfind(" ", 1, LINE + 1)
        end = _end_by_sign(line) if end == -1 else end
        yield line[:end]
        line = line[end:].removeprefix(" ")
    yield line


def _end_by_sign(line: str) -> int:
    """Behind an object or a sentence, so that it can be quoted whole; else behind a part of one."""
    ends = (max(line.rfind(sign, LINE // 2, LINE) for sign in signs) + 1 for signs in _ENDS)
    # Anywhere, if need be: then a word or a quote may go across, but all of it is seen.
    return next((end for end in ends if end), LINE)


def _scores(text: LongText, phrase: str, wanted: set[str]) -> Iterator[tuple[float, int]]:
    """How well each line fits: a rare word says more than one that is in all lines, the phrase most."""
    known = Counter(word for words in text.words for word in words & wanted)
    whole = " ".join(phrase.casefold().split())
    for at, (line, words) in enumerate(zip(text.lines, text.words, strict=True)):
        score = sum(1 / known[word] for word in words & wanted)
        # Scripts without spaces have no words that could be compared.
        yield score + (_PHRASE if whole and whole in " ".join(line.casefold().split()) else 0), at


def _rare(text: LongText, words: set[str]) -> set[str]:
    """The words that are in few of the lines, or in none."""
    known = Counter(word for line in text.words for word in line & words)
    most = max(_MOST_LINES, len(text.lines) // 20)
    return {word for word in words if known[word] <= most}


def _excerpts(text: LongText, found: Sequence[int], room: int) -> Iterator[Excerpt]:
    """The lines around these, the best first, as far as there is room; each line once."""
    seen = set[int]()
    for at in found:
        near = (place for place in (at - 1, at, at + 1) if 0 <= place < len(text.lines))
        around = [place for place in near if place not in seen]
        wanted = around if _size(text, around) <= room else [at]
        if at in seen or _size(text, wanted) > room:
            continue
        room -= _size(text, wanted)
        seen.update(wanted)
        yield Excerpt(wanted[0] + 1, tuple(text.lines[place] for place in wanted))


def _size(text: LongText, places: Sequence[int]) -> int:
    return sum(len(text.lines[place]) + 1 for place in places)


def _as_many(lines: Sequence[str], room: int) -> Iterator[str]:
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return
        yield line
