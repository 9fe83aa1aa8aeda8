"""Messages as somebody types them who doesn't care: small letters, slips, no full stop at the end."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from ...conversation.port import UserMessage, UserSimulator
from ...transcript import Turn

_SLIPS = 0.08
"""The share of longer words that are mistyped."""

_LOST_APOSTROPHES = 0.75

# Shorter words are rarely mistyped, and hard to recognise when they are.
_LONG = 4

_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]+\Z")
_PIECE = re.compile(r"```.*?(?:```|\Z)|`[^`]*`|^(?: {4}|\t)[^\n]*$|[^\s`]+", re.DOTALL | re.MULTILINE)
_CODE = ("`", "    ", "\t")
_TECHNICAL = re.compile(r"[\d_@/\\{}<>=#$|^~+]|\w\.\w|\w\(")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")


def perfunctory(text: str, seed: str) -> str:
    """The text as it is typed in haste; the same text and seed give the same result on every machine.

    Code, addresses and whatever has a digit in it stay as they are: a slip there would change what
    is said and not how. So do the letters of scripts without capitals, where a swapped letter is another
    word.
    """
    chance = random.Random(seed)  # noqa: S311 - nothing here is secret
    body = _END.sub("", text.rstrip()) or text
    return _PIECE.sub(lambda piece: _typed(piece.group(), chance), body)


class Perfunctory:
    """A user whose messages reach the target as typed in haste; `seed` differs by conversation.

    The user itself is shown its own words as it meant them, so that whoever looks for repetitions in them
    finds them.
    """

    def __init__(self, user: UserSimulator, seed: str) -> None:
        self._user = user
        self._seed = seed
        self._meant: list[str] = []

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        """The next message; see `UserSimulator`."""
        meant = [replace(turn, user=self._meant[turn.number - 1]) for turn in turns]
        message = await self._user.next_message(meant)
        self._meant.append(message.text)
        return replace(message, text=perfunctory(message.text, f"{self._seed}/{len(self._meant)}"))


def _typed(piece: str, chance: random.Random) -> str:
    if piece.startswith(_CODE) or _TECHNICAL.search(piece):
        return piece
    return _WORD.sub(lambda word: _hasty(word.group(), chance), piece.lower())


def _hasty(word: str, chance: random.Random) -> str:
    if not word.isalpha():
        return re.sub("['\u2019]", "", word) if chance.random() < _LOST_APOSTROPHES else word
    cased = word.upper() != word
    return _slip(word, chance) if cased and len(word) >= _LONG and chance.random() < _SLIPS else word


def _slip(word: str, chance: random.Random) -> str:
    """The word with two inner letters swapped, or one dropped or doubled; the first letter stays."""
    at = chance.randrange(1, len(word) - 1)
    kind = chance.choice(("swapped", "dropped", "doubled"))
    if kind == "swapped" and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at] * 2 * (kind == "doubled") + word[at + 1 :]
