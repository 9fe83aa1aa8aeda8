"""The control: the same conversation in another dress, which must still pass."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ..conversation.suspicion import is_english
from ..text import is_blank
from ..transcript import Transcript

THANKS = "Thank you for your message."

_SENTENCE_END = re.compile("(?<=[.!?\u3002\uff01\uff1f])[ \t]+(?=[^\\W\\d])")
_ABOUT_FORM = re.compile(
    r"\b(?:only|exactly|verbatim|word for word|sentences?|words|lines?|short|brief|concise|begins?|starts?"
    r"|first|ends?|last|nothing|format\w*|json|markdown|thank\w*|polite\w*|greet\w*|empty|length|long|characters?)\b",
    re.IGNORECASE,
)


def paraphrased(transcript: Transcript, criteria: Iterable[str]) -> Transcript:
    """The replies with other spaces between their sentences, and politer where they are English.

    `criteria` are the texts of all criteria. Where one is about the form of replies, only spaces change.
    """
    strict = any(map(_ABOUT_FORM.search, criteria))
    turns = tuple(
        replace(turn, reply=replace(turn.reply, text=_dressed(turn.reply.text, polite=not strict)))
        for turn in transcript.turns
    )
    return replace(transcript, turns=turns)


def _dressed(text: str, *, polite: bool) -> str:
    if is_blank(text):
        return text
    spaced = _SENTENCE_END.sub("\n", text)
    return f"{THANKS}\n\n{spaced}\n" if polite and is_english(text) else f"\n{spaced}\n"
