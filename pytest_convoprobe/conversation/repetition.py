"""Conversations that go round in circles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ..transcript import Origin, Turn

_WORDS = re.compile(r"\w+")
_LONGEST = 50_000

# The length of a cycle in turns, and how often it has to come in a row to be a loop.
_CYCLES = ((1, 3), (2, 2))


def normalised(text: str) -> str:
    """The words of a text in small letters: two texts that differ only in the rest count as the same one.

    A text without words (`?`, an emoji) stays as it is, and so does a very long one.
    """
    if len(text) > _LONGEST:
        return text  # each turn would go through a megabyte several times
    words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
    return " ".join(words) or text.strip()


def goes_in_circles(turns: Sequence[Turn]) -> bool:
    """Whether the last turns are one exchange three times, or two exchanges in turn, twice.

    An exchange is what both sides said. Turns that the scenario's author wrote don't count: a
    script may say the same thing again on purpose.
    """
    return any(_ends_in_cycle(turns, length, times) for length, times in _CYCLES)


def _ends_in_cycle(turns: Sequence[Turn], length: int, times: int) -> bool:
    last = turns[-length * times :]
    if len(last) < length * times or any(turn.origin is Origin.SCRIPT for turn in last):
        return False
    exchanges = [(normalised(turn.user), normalised(turn.reply.text)) for turn in last]
    return all(exchange == exchanges[index % length] for index, exchange in enumerate(exchanges))
