"""Where in the shown texts a quote is, so that a page can mark it. Pure.

The judge's quotes were checked when it judged (see `judging.evidence`), with the same tolerance for quote
marks, spacing and ellipses. Here it only matters what to mark: a quote that isn't found marks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ELLIPSIS = re.compile(r"[\[(]\s*(?:\.{3,}|…)\s*[\])]|\.{3,}|…")
_WORDS = re.compile(r"[^\W_]+")
_MOST_WORDS = 200


def marks(quote: str, texts: Iterable[tuple[str, str]]) -> tuple[str, tuple[str, ...]] | None:
    """The name of the text that has the quote, and the pieces of the text to mark; None if none has it.

    `texts` are pairs of a name and a text. A quote with an ellipsis has several pieces.
    """
    patterns = [pattern for part in _ELLIPSIS.split(quote) if (pattern := _pattern(part))]
    if not patterns:
        return None
    for name, text in texts:
        pieces = _pieces(patterns, text)
        if pieces:
            return name, pieces
    return None


def _pattern(part: str) -> re.Pattern[str] | None:
    """The words of the part with anything but words between them."""
    words = _WORDS.findall(part)[:_MOST_WORDS]
    return re.compile(r"[\W_]{1,40}".join(map(re.escape, words)), re.IGNORECASE) if words else None


def _pieces(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[str, ...]:
    """What the patterns match, one after the other; nothing unless all of them do."""
    found, start = [], 0
    for pattern in patterns:
        match = pattern.search(text, start)
        if match is None:
            return ()
        found.append(match[0])
        start = match.end()
    return tuple(found)
