"""A conversation in turns: what an evaluator is shown, and what its `turn 2` means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..transcript import Reply, Transcript, Turn
from .rows import Said


def in_turns(conversation: Sequence[Said]) -> Transcript:
    """The messages in turns; what one side said twice running is one message of two paragraphs."""
    turns: list[Turn] = []
    pending: str | None = None
    for role, text in _sides(conversation):
        if role == "user":
            pending = text
        else:
            turns.append(Turn(len(turns) + 1, pending or "", Reply(text)))
            pending = None
    return Transcript(tuple(turns), pending=pending)


def _sides(conversation: Sequence[Said]) -> Iterator[tuple[str, str]]:
    for role, messages in groupby(conversation, key=lambda said: said.role):
        yield role, "\n\n".join(said.content for said in messages)
