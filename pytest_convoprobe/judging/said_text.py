"""A reply as its reader sees it: without differences of encoding that nobody sees. Pure functions.

Models write `it's` with a typographic apostrophe, `A-1001` with a hyphen that doesn't break, and `54 €` with
a space that doesn't. Whoever looks for such a text means all of them.
"""

from __future__ import annotations

import re
import unicodedata

_QUOTES = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u02bc\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033"), '"'),
}
# Those that break no line, or are of another width: a tab and the line breaks stay.
_SPACES = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_HYPHENS = dict.fromkeys([0x2010, 0x2011], "-")
# A soft hyphen, and what has no width. The joiners of emoji and of some scripts stay: they change the text.
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x2060, 0xFEFF], None)
_IN_TEXTS = {**_QUOTES, **_SPACES, **_HYPHENS, **_INVISIBLE}
_IN_PATTERNS = {**_QUOTES, **_SPACES}
# In a set of characters a hyphen is a range: these stay as they are.
_SETS_AND_HYPHENS = re.compile(r"(\[\^?\]?(?:\\.|[^\]\\])*\]|\\[^\u2010\u2011])|\\?[\u2010\u2011]", re.DOTALL)

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
# By runs of ASCII: scripts without spaces write `ご注文A-1001は`.
_RUN = re.compile(r"[!-~]+")
_NOT_WORDS = re.compile(r"\d|@|://|^\W*www\.", re.IGNORECASE)


def as_seen(text: str) -> str:
    """The text in NFC, with plain apostrophes, quote marks, hyphens and spaces, and nothing invisible."""
    if text.isascii():
        return text.replace("\r\n", "\n")
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n")).translate(_IN_TEXTS)


def pattern_as_seen(pattern: str) -> str:
    """An expression that is to be looked for in what `as_seen` gives."""
    plain = unicodedata.normalize("NFC", pattern).translate(_IN_PATTERNS)
    return _SETS_AND_HYPHENS.sub(lambda found: found[1] or r"\-", plain)


def comparable(text: str, ignore_case: bool) -> str:
    """The text on one line with single spaces, to be looked for or in."""
    line = " ".join(as_seen(text).split())
    return unicodedata.normalize("NFC", line.casefold()) if ignore_case else line


def code_blocks(text: str) -> list[str]:
    """What is in the fenced blocks of code of a text in Markdown."""
    return _divided(text)[1]


def prose(text: str) -> str:
    """The text without what has no language: code, addresses, and words with digits."""
    outside = _INLINE_CODE.sub(" ", as_seen(_divided(text)[0]))
    return _RUN.sub(lambda run: " " if _NOT_WORDS.search(run[0]) else run[0], outside)


def _divided(text: str) -> tuple[str, list[str]]:
    """What is outside of blocks of code, and each of these. A block without an end is none.

    Line by line, since an expression for it would take quadratic time on a text of nothing but fences.
    """
    outside: list[str] = []
    blocks: list[str] = []
    inside: list[str] = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        found = _FENCE.match(line)
        if not fence and found:
            fence, inside = found[1], [line]
        elif fence and found and found[1].startswith(fence) and not line[found.end() :].strip():
            blocks.append("\n".join(inside[1:]))
            fence = ""
        else:
            (inside if fence else outside).append(line)
    return "\n".join([*outside, *(inside if fence else [])]), blocks
