"""The guard: finds in a simulated message what no user would write, before the target sees it.

A message that is wrongly refused costs a conversation as much as a bad one that is let
through. So every rule is narrow: it looks at the places where models slip, leaves
alone what is in quotes or code, and lets pass what a person might have written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..text import shorten
from ..transcript import Turn, with_user
from .phrases import (
    ASSISTANT_LABEL,
    ASSISTANT_LINE,
    END_SIGN,
    FAREWELL_WORDS,
    LABEL_IN_FRONT,
    LEAVING,
    OWN_JSON,
    OWN_TAG,
    SIMULATION_LINE,
    THOUGHTS,
)
from .port import Status, UserMessage
from .repetition import normalised

_EXCERPT = 60
_LONGEST = 20_000

# Words of a message that nobody gives twice running; "I don't know that" is given twice.
_LONG = 8

_QUOTED = re.compile(
    r"```.*?```|`[^`]*`|\"[^\"\n]*\"|\u201c[^\u201d]*\u201d|\u201e[^\u201c\u201d]*[\u201c\u201d]"
    r"|\u00ab[^\u00bb]*\u00bb|(?<!\w)'[^\n]{0,400}?'(?!\w)",
    re.DOTALL,
)
_ONE_QUOTATION = re.compile(r"\"([^\"]*)\"|\u201c([^\u201c\u201d]*)\u201d|'((?:[^']|(?<=\w)'(?=\w))*)'")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")

_LEAKS = (
    (THOUGHTS, "it shows thoughts that nobody would send"),
    (OWN_TAG, "it has the tags that mark the assistant's replies"),
    (LABEL_IN_FRONT, "it starts with a label for who is speaking"),
    (ASSISTANT_LABEL, "it speaks for the assistant, too"),
    (END_SIGN, 'it has a sign for the end in its text, where only "status" is the place for that'),
)


def fault(message: UserMessage, turns: Sequence[Turn], *, may_end: bool = True) -> str | None:
    """What is wrong with a simulated message, as a clause about "it"; None if a user may have written it.

    `turns` are the turns before it. A user that may end the conversation may do so without a word.
    """
    turns = with_user(turns)
    if not message.text.strip():
        leaves = message.status is Status.GAVE_UP or (message.status is Status.DONE and may_end)
        return None if turns and leaves else "it is empty"
    if not turns and message.status is not Status.CONTINUE:
        return "it ends the conversation before it has begun"
    if len(message.text) > _LONGEST:
        # Nobody writes that, and the patterns below would take long.
        return f"it is far too long for a message ({len(message.text):,} characters)"
    return _leaked(message.text) or _out_of_role(message.text) or _repeated(message.text, turns)


def says_goodbye(text: str) -> bool:
    """Whether a text is a farewell and nothing else."""
    return LEAVING.search(text) is not None and set(normalised(text).split()) <= FAREWELL_WORDS


def _leaked(text: str) -> str | None:
    """Parts of the machinery that show: its JSON, its tags, its thoughts, its signs."""
    if OWN_JSON.search(text):
        return "it has the JSON of the answer inside the message"
    bare = _without_quotes(text)
    for pattern, what in _LEAKS:
        found = pattern.search(bare)
        if found is not None:
            return f"{what} ({excerpt(found.group())})"
    return None


def _out_of_role(text: str) -> str | None:
    for sentence in _sentences(_without_quotes(text)):
        if ASSISTANT_LINE.match(sentence):
            return f"it talks as the assistant ({excerpt(sentence)})"
        if SIMULATION_LINE.match(sentence):
            return f"it steps out of the person's role ({excerpt(sentence)})"
    return None


def _repeated(text: str, turns: Sequence[Turn]) -> str | None:
    words = normalised(text)
    # A model that has lost the thread begins the conversation again.
    if turns and words == normalised(turns[0].user):
        return "it repeats the first message word for word"
    if len(turns) > 1 and len(words.split()) >= _LONG and words == normalised(turns[-1].user):
        # A question that comes again word for word may well be answered word for word.
        asked_again = normalised(turns[-2].reply.text) == normalised(turns[-1].reply.text)
        return None if asked_again else "it repeats the message before it word for word"
    return None


def _without_quotes(text: str) -> str:
    """The text without quotations and code; of a text that is one quotation, what it quotes."""
    text = text.strip().replace("\u2019", "'")
    whole = _ONE_QUOTATION.fullmatch(text)
    if whole is not None:
        text = "".join(part or "" for part in whole.groups()).strip()
    return _QUOTED.sub("quoted", text)


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(text):
        yield " ".join(sentence.split()).strip("*_- ")


def excerpt(text: str) -> str:
    """The start of a text in quotes, for a clause about it."""
    return repr(shorten(text.strip(), _EXCERPT))
