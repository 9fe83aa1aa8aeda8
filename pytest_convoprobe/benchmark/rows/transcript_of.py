"""A conversation in turns: what an evaluator is shown, and what its `turn 2` means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ...judging.transcript_view import view_of
from ...thoughts import without_thoughts
from ...transcript import Reply, Transcript, Turn
from .messages import Said


def shown(conversation: Sequence[Said], definition: str, examples: Sequence[str]) -> dict[str, Any]:
    """All that an evaluator is shown, as the values of its prompt."""
    return {
        "definition": definition.strip(),
        "examples": [example.strip() for example in examples],
        "view": view_of(in_turns(conversation), ending=False),
    }


def in_turns(conversation: Sequence[Said]) -> Transcript:
    """The messages in turns; what one side said twice running is one message of two paragraphs.

    An assistant that only called tools in between said nothing there, and adds no paragraph.
    """
    turns: list[Turn] = []
    pending: str | None = None
    for role, reply in _sides(conversation):
        if role == "user":
            pending = reply.text
        else:
            turns.append(Turn(len(turns) + 1, pending or "", reply))
            pending = None
    return Transcript(tuple(turns), pending=pending)


def _sides(conversation: Sequence[Said]) -> Iterator[tuple[str, Reply]]:
    for role, messages in groupby(conversation, key=lambda said: said.role):
        there = list(messages)
        # One by one: a thought that breaks off must not swallow the next message.
        words = ((without_thoughts(said.content)[0], said) for said in there)
        text = "\n\n".join(text for text, said in words if text or not said.tool_calls)
        yield role, Reply(text, tuple(call for said in there for call in said.tool_calls))
