"""Notes that can be shown: on one line, not too long, and without secrets of the source."""

from __future__ import annotations

from functools import lru_cache

from ..redaction import Redactor
from ..text import one_line
from .literal_text import healed
from .notes import Fate, ImportNote

_LONGEST = 500


@lru_cache(maxsize=1)
def redactor() -> Redactor:
    """What masks secrets of the environment, and texts that look like secrets."""
    return Redactor()


def plain(text: str) -> str:
    """A text of a source as it may be shown."""
    line = one_line(redactor().text(healed(text)))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def note(fate: Fate, place: str, kind: str, why: str, advice: str = "") -> ImportNote:
    """A note on a part of a source."""
    return ImportNote(fate, plain(place), plain(kind), plain(why), plain(advice))
