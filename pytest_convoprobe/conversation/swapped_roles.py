"""The conversation as the simulating model sees it: with the roles swapped.

For that model the target's replies come from the `user`, and what the synthetic user said are
its own `assistant` messages. It starts with a cue of ours, because some providers want a chat
to begin with the `user` role: so the opening stays, as the model's own first message, and
the roles alternate up to the last reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from .. import prompts
from ..excerpts import TEXT_LIMIT, fitting
from ..llm.port import Message
from ..transcript import Turn, with_user
from .port import Status, UserMessage

REPLY_LIMIT = TEXT_LIMIT
"""Characters of one reply that the synthetic user reads; a longer one is cut, and the cut is marked."""

# A model reads a tag with wide brackets, or with characters in it that nobody sees, as the tag all the same.
_UNSEEN = (
    r"[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]*"
)
_FENCE = re.compile(
    rf"[<\uff1c\ufe64\u2039\u3008\u27e8](?=[^\w<>]{{0,20}}{_UNSEEN.join('reply')}\b)", re.IGNORECASE
)


def swapped(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """The messages after the system prompt: `user`, `assistant`, `user` … and a `user` at the end.

    Tool calls are left out: a user doesn't see them. What the user said has the shape that
    the model is to answer in, which keeps small models to it.
    """
    greeted = bool(turns) and turns[0].is_greeting
    start = _greeted(turns[0]) if greeted else prompts.render("synthetic_user_start")
    return (Message("user", start), *_spoken(with_user(turns)))


def said(message: UserMessage) -> Message:
    """What the model wrote itself, in the shape that it is to write."""
    reply = {"message": message.text, "status": message.status.value}
    return Message("assistant", json.dumps(reply, ensure_ascii=False))


def _spoken(turns: Sequence[Turn]) -> Iterator[Message]:
    for turn in turns:
        yield said(UserMessage(turn.user, Status.CONTINUE))
        yield Message("user", prompts.render("synthetic_user_heard", reply=_fenced(turn.reply.text)))


def _greeted(turn: Turn) -> str:
    return prompts.render("before/greeted", reply=_fenced(turn.reply.text))


def _fenced(text: str) -> str:
    """The reply, unable to close the tags that the prompt puts around it."""
    return _FENCE.sub("&lt;", fitting(text.strip(), REPLY_LIMIT))
