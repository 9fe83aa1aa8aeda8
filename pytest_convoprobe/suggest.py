"""What a mistyped word was probably meant to be: for keys of files, options, commands and names of all kinds.

This is the only place that guesses, so that a word is as near to another one everywhere.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

NEAR_ENOUGH = 0.65
"""The ratio of difflib from which two words count as one; its own 0.6 takes words of different meaning."""
_SLIP = 0.85


def suggest(word: str, known: Iterable[str], others: Mapping[str, str] | None = None) -> str | None:
    """The known word that `word` most likely means.

    `others` are names that other systems have for the same thing, each with the known word.
    """
    plain = {plain_name(name): name for name in known}
    meant = {plain_name(name): plain[other] for name, other in (others or {}).items() if other in plain}
    plain = {**meant, **plain}
    found = difflib.get_close_matches(plain_name(word), plain, n=1, cutoff=NEAR_ENOUGH)
    return plain[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], others: Mapping[str, str] | None = None) -> str:
    """`; did you mean `simulate`?`, to be put behind a message; empty where no word is near."""
    near = suggest(word, known, others)
    return f"; did you mean `{near}`?" if near else ""


def is_slip_of(word: str, known: Iterable[str]) -> bool:
    """Whether it is one of these words with letters swapped, or one too many or too few: `flase`, `tru`."""
    return any(
        sorted(word) == sorted(other) or difflib.SequenceMatcher(None, word, other).ratio() >= _SLIP
        for other in known
    )


def plain_name(name: str) -> str:
    """`initialQuery`, `Initial-Query` and `initial query` are `initial_query`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-_]+", "_", snake).lower()
