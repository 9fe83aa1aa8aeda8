"""Texts without what differs from run to run: clocks, and generated ids.

Of clocks nothing is left: two of them may be equal by chance, and differ in the next run. Ids are unique, so
they are numbered in the order of a request. Then it still counts which of two orders a text is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import SettingsError
from ..personal_patterns import Pattern, own_pattern
from ..timed_patterns import without_an_end

_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:Z|[+-]\d{2}:?\d{2})"
_CLOCK = (
    rf"(?<![\w:.-]){_DATE}(?:[T ]{_TIME} ?{_ZONE}?)?(?![\w:])"
    # A time of the day alone is a clock if it has seconds; `10:30` may be when a shop opens.
    rf"|(?<![\w:.-])\d{{2}}:\d{{2}}:\d{{2}}(?:[.,]\d{{1,9}})?{_ZONE}?(?![\w:])"
    # Seconds since 1970 or their fractions, from 2017 to 2033.
    r"|(?<![\w.+-])1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9}|\.\d{1,9})?(?![\w-])"
    r"|(?<![\w.+-])20\d{6}T\d{6}Z?(?![\w-])"
)
_HEX = "[0-9a-fA-F]"
_ID = (
    rf"(?<![0-9A-Za-z]){_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}(?![0-9A-Za-z])"
    # A random UUID without its dashes: its version and variant are at these places.
    rf"|(?<![0-9A-Za-z]){_HEX}{{12}}4{_HEX}{{3}}[89abAB]{_HEX}{{15}}(?![0-9A-Za-z])"
    r"|(?<![0-9A-Za-z])(?:call|toolu|resp|msg|chatcmpl|fc|rs|ctc|conv|thread|run)[_-]{1,2}"
    r"(?=[A-Za-z_-]*\d)[0-9A-Za-z]{12,}(?![0-9A-Za-z])"
)
_VOLATILE = re.compile(rf"(?P<id>{_ID})|(?P<clock>{_CLOCK})")
_ONLY_IDS = re.compile(rf"(?P<id>{_ID})")
_LEFT_OUT, _A_CLOCK, _AN_ID = "\x00left out\x00", "\x00clock\x00", "\x00id\x00"

Parts = tuple[tuple[str, str], ...]
"""Each part of a text with its kind: `id`, `clock`, or empty for what stays."""

Divided = dict[tuple[str, str], Parts]
"""Texts in parts, by expression and text."""


def message_with_a_clock(text: str) -> bool:
    """Whether something in a user's message would be left out of an agent's text."""
    return _VOLATILE.search(text) is not None


class VolatileTexts:
    """The texts of one request. `expressions` are the project's own, `said` the user's words to keep.

    `cache` has what was found in the texts of earlier requests, which a conversation repeats.
    """

    def __init__(
        self, expressions: Sequence[str] = (), said: Sequence[str] = (), cache: Divided | None = None
    ) -> None:
        self._divided = {} if cache is None else cache
        self._own = [own_pattern("volatile", expression) for expression in expressions]
        self._numbers: dict[str, int] = {}
        # The longest first: a short message may be a part of another one.
        ordered = sorted(set(filter(None, said)), key=lambda one: (-len(one), one))
        words = "|".join(map(re.escape, ordered))
        self._said = re.compile(rf"(?<![\w:.-])(?:{words})(?![\w:-])") if words else None

    def number(self, identifier: str) -> str:
        """What stands for an id: its number in the request."""
        return f"\x00id {self._numbers.setdefault(identifier, len(self._numbers) + 1)}\x00"

    def reader(self, *, model: bool = False, user: bool = False) -> TextReader:
        """What makes two texts equal if they differ in volatile parts only.

        With `model`, the texts are the model's, so they come from a recording: times in them count, but not
        which id they name, since the agent may have made another one in this run. With `user`, the texts may
        have the user's words in them, in which everything counts.
        """
        return TextReader(self, model, self._said if user else None)

    def divided(self, text: str, volatile: re.Pattern[str]) -> Parts:
        """The text in parts: what stays, and what is volatile with its kind."""
        key = volatile.pattern, text
        if key not in self._divided:
            self._divided[key] = tuple(_parts(text, volatile))
        return self._divided[key]

    def without_own(self, text: str) -> str:
        """The text without what the project's own expressions find. Raises `SettingsError`."""
        for pattern in self._own:
            text = _without(pattern, text)
        return text


class TextReader:
    """Reads the texts of one message."""

    def __init__(self, texts: VolatileTexts, model: bool, said: re.Pattern[str] | None) -> None:
        self._texts = texts
        self._model = model
        self._said = said

    def __call__(self, text: str) -> str:
        """The text without its volatile parts."""
        text = self._texts.without_own(text)
        if self._said is None:
            return self._changed(text)
        parts, start = [], 0
        for match in self._said.finditer(text):
            parts += [self._changed(text[start : match.start()]), match[0]]
            start = match.end()
        return "".join((*parts, self._changed(text[start:])))

    def number(self, identifier: str) -> str:
        """What stands for an id."""
        return self._texts.number(identifier)

    def _changed(self, text: str) -> str:
        parts = self._texts.divided(text, _ONLY_IDS if self._model else _VOLATILE)
        return "".join(self._same(*part) for part in parts)

    def _same(self, kind: str, part: str) -> str:
        if kind == "id":
            return _AN_ID if self._model else self._texts.number(part)
        return _A_CLOCK if kind else part


def _parts(text: str, volatile: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    start = 0
    for match in volatile.finditer(text):
        yield "", text[start : match.start()]
        yield match.lastgroup or "", match[0]
        start = match.end()
    yield "", text[start:]


def _without(pattern: Pattern, text: str) -> str:
    parts, start = [], 0
    try:
        for begin, end in pattern.spans(text):
            parts += [text[start:begin], _LEFT_OUT]
            start = end
    except TimeoutError:
        words = f"a text of {len(text):,} characters"
        message = without_an_end(pattern.expression, words, round(pattern.seconds_for(text)))
        raise SettingsError.of(message, path="target.model_volatile.texts") from None
    return "".join((*parts, text[start:]))
