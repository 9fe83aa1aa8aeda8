"""Text from models, targets and tools made fit for a terminal, a CI log and a judge.

Whatever a target says may hold escape sequences, right-to-left overrides, invisible
characters or the commands of a CI system. `visible` writes such characters as escapes,
`harmless` also breaks the commands, `fold` wraps by columns and `shorten` cuts with a
mark that counts what is missing. Nothing here knows where the text came from.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from .formatting import counted

_TAB = "    "
_FIRST = 100

# Letters and marks by category, yet nothing to see: fillers, joiners and variation selectors.
# The two selectors that choose between a text and an emoji glyph (FE0E, FE0F) stay.
_INVISIBLE = frozenset(
    map(chr, [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0])
) | frozenset(map(chr, [*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)]))

# A blank pattern of Braille, and the selectors of a glyph, which show nothing by themselves.
_LOOKS_EMPTY = frozenset("\u2800\ufe0e\ufe0f")

# Within a line: across line breaks, a text of empty lines would take quadratic time.
_LINE_COMMAND = re.compile(r"^([^\S\n]*)(?=::)", re.MULTILINE)
_INLINE_COMMAND = re.compile(r"##(?=\w*\[)")


def visible(text: str) -> str:
    r"""The text with every character that can't be seen written as an escape (`\x1b`, `\u202e`).

    Line breaks stay (CR LF becomes LF), tabs become four spaces, odd spaces plain ones. A
    carriage return alone, other line separators, control and format characters, lone
    surrogates and unassigned characters are escaped, so that the result is printable
    and can be encoded as UTF-8.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    # By the different characters of the text: there are few, however long it is.
    return text.translate({ord(character): _visible_character(character) for character in set(text)})


def harmless(text: str) -> str:
    r"""`visible`, and no line is a command to a CI system.

    GitHub, Azure and TeamCity read their logs for `::error::` at the start of a line and for
    `##[group]`, `##vso[…]` or `##teamcity[…]` anywhere; a backslash breaks them.
    """
    return without_commands(visible(text))


def without_commands(text: str) -> str:
    """The text with the commands of CI systems broken by a backslash; the same if applied again."""
    return _INLINE_COMMAND.sub(r"#\\#", _LINE_COMMAND.sub(r"\1\\", text))


def to_ascii(text: str) -> str:
    r"""The text with everything outside ASCII escaped (`\xe9`, `\u2713`)."""
    return text.encode("ascii", "backslashreplace").decode("ascii")


def cell_width(text: str) -> int:
    """How many columns a terminal uses for the text: two for wide characters, none for marks."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_character_width(character) * number for character, number in Counter(text).items())


def fold(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """The text as lines of at most `width` columns, broken at spaces where there are any.

    `first` is put before the first line and `rest` (the same width in spaces by default)
    before every other one. A word that is too long is cut. At least eight columns are left
    for the text, however narrow the rest is. An empty text is one line.
    """
    indent = " " * cell_width(first) if rest is None else rest
    room = max(8, width - max(cell_width(first), cell_width(indent)))
    pieces = [piece for line in text.split("\n") for piece in _broken(line, room)]
    lines = [(first if number == 0 else indent) + piece for number, piece in enumerate(pieces)]
    return [without_commands(line.rstrip()) for line in lines]


def shorten(text: str, limit: int) -> str:
    """The text, or its start and a mark with the number of characters left out.

    The start is at most `limit` characters long; the mark comes on top of that.
    """
    if len(text) <= limit:
        return text
    left_out = len(text) - limit
    return f"{text[:limit].rstrip()} … ({counted(left_out, 'more character')})"


def one_line(text: str) -> str:
    """The text on one line: every run of white space is one space."""
    return " ".join(text.split())


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: it is empty, or white space and invisible characters only."""
    return not any(map(_is_ink, text[:_FIRST])) and not any(map(_is_ink, set(text[_FIRST:])))


def has_words(text: str) -> bool:
    """Whether there is at least one letter or digit of any language that can be seen."""
    return any(character.isalnum() and _is_ink(character) for character in set(text))


def same_words(text: str, other: str) -> bool:
    """Whether two texts differ in case, spaces and punctuation at most."""
    return _words(text) == _words(other)


def has_same_words(text: str, part: str) -> bool:
    """Whether all words of `part` are in `text`, one after the other; case and punctuation don't count."""
    return f" {' '.join(_words(part))} " in f" {' '.join(_words(text))} "


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    # Signs such as an emoji are all that some texts have.
    return re.findall(r"\w+", plain) or plain.split()


def _is_ink(character: str) -> bool:
    if character in _INVISIBLE or character in _LOOKS_EMPTY:
        return False
    # Cc, Cf, Cs, Cn and the separators: nothing that a reader would see.
    return unicodedata.category(character)[0] not in "CZ"


def _visible_character(character: str) -> str:
    if character == "\t":
        return _TAB
    if character == "\n" or (character.isprintable() and character not in _INVISIBLE):
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _broken(line: str, room: int) -> Iterator[str]:
    """One line cut into pieces of at most `room` columns; the spaces at a break are dropped."""
    start = 0
    while (end := start + _fitting(line, room, start)) < len(line):
        space = line.rfind(" ", start + 1, end + 1)
        cut = space if space > start and line[start:space].strip() else end
        yield line[start:cut].rstrip()
        # By places: a copy of the rest for each line of a megabyte would take quadratic time.
        start = cut
        while line.startswith(" ", start):
            start += 1
    yield line[start:]


def _fitting(line: str, room: int, start: int = 0) -> int:
    """How many characters of the line, from its place `start`, fit into `room` columns; at least one."""
    used = 0
    for index in range(start, len(line)):
        used += _character_width(line[index])
        if used > room:
            return max(1, index - start)
    return len(line) - start
