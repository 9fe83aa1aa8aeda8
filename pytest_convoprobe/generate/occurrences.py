"""Where words that must be replaced occur in a text, in any spelling that means the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..judging.evidence import SPACELESS

_SPACELESS = re.compile(f"[{SPACELESS}]")
# An underscore is no letter here: `user_ann_lee` has a name in it.
_LETTER = rf"[^\W_{SPACELESS}]"
_BETWEEN = r"[\s_.-]+"


class Occurrences:
    """The places of some texts.

    Names of one word are found as they are and in capitals, others in any case.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._known = {key_of(text): text for text in texts}
        longest_first = sorted(self._known.values(), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_spelled, longest_first)) or "(?!)")

    def any_in(self, text: str) -> bool:
        """Whether one of them occurs."""
        return self._pattern.search(text) is not None

    def replaced(self, text: str, by: Callable[[str], str]) -> str:
        """The text with others in their places, written in the case of the place."""
        return self._pattern.sub(lambda found: _in_style(found[0], by(self._meant(found[0]))), text)

    def _meant(self, found: str) -> str:
        return self._known[key_of(found)]


def key_of(text: str) -> str:
    """The same for all spellings of a text."""
    return re.sub(_BETWEEN, " ", text.casefold())


def _spelled(text: str) -> str:
    words = _BETWEEN.join(map(re.escape, re.split(_BETWEEN, text)))
    # A word alone may be one of the language too: "Will", "Rose". In small letters, it is that.
    any_case = len(text.split()) > 1 or any(one.isdigit() or one == "@" for one in text)
    words = f"(?i:{words})" if any_case else f"(?:{words}|{re.escape(text.upper())})"
    # Where there are no spaces, nobody knows where a word begins.
    before = "" if _SPACELESS.match(text[:1]) else f"(?<!{_LETTER})"
    after = "" if _SPACELESS.match(text[-1:]) else f"(?!{_LETTER})"
    return f"{before}{words}{after}"


def _in_style(found: str, other: str) -> str:
    """The other words in capitals or small letters, and joined, as those that were found."""
    between = re.search(_BETWEEN, found)
    if between and between[0].strip():
        other = other.replace(" ", between[0])
    if found.isupper() and not other.isupper() and any(map(str.isalpha, found)):
        return other.upper()
    return other.lower() if found.islower() else other
