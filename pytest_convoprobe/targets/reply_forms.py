"""What agents answer, in the forms that they answer in, as a `Reply`.

========================================  ====================================================
a text, a `Reply`                         as it is
`(text, tool calls)`                      also with the usage as a third item
messages, or a state with `messages`      see `message_lists`
a completion of a model                   the message in `choices[0]`, `message` or `output`
something with `text`, `content`,         that field, with `tool_calls`, `usage`, `ended`,
`output` or `final_output`                `pending` and `startup`
any other mapping, dataclass or           structured output: its JSON is the text
pydantic value
========================================  ====================================================

Everything else is a `ValueError` that names the type and the forms. A form that says nothing about tools has
`tool_calls` None: absent is not empty.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from ..cutting import MOST_TEXT, at_most, cut_end
from ..transcript import Reply, ToolCall, Usage
from .message_lists import MessageReader, is_message, is_message_list
from .pending_forms import as_pending
from .plain_values import clean_text, described, plain
from .reply_parts import (
    Cuts,
    as_ended,
    as_seconds,
    as_thoughts,
    as_tool_calls,
    as_usage,
    field_of,
    has_field,
    joined_text,
)

FORMS = (
    "return a text, `Reply(text, tool_calls, usage)`, `(text, tool_calls)`, a list of messages with `role` "
    "and `content`, a state with `messages`, or structured output (a mapping, a dataclass, a pydantic value)"
)
"""The accepted forms, for messages."""

_MOST_CHUNKS = 100_000
_TEXT_KEYS = ("text", "content", "output", "final_output")


@dataclasses.dataclass(frozen=True)
class Stream:
    """What a generator has yielded, to its end.

    `unread` counts the characters of its texts that were not kept, since there were too many.
    """

    chunks: tuple[object, ...]
    unread: int = 0


class Collecting:
    """Takes what a generator yields, and keeps at most `most` characters: it may yield without end."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._chunks: list[object] = []
        self._unread = 0

    def add(self, chunk: object) -> None:
        """Take the next one."""
        if not isinstance(chunk, str):
            # One is enough to say what is wrong with them, and a list of messages is never as long as this.
            if len(self._chunks) < _MOST_CHUNKS:
                self._chunks.append(chunk)
            return
        kept = chunk[: self._room]
        self._room -= len(kept)
        self._unread += len(chunk) - len(kept)
        if kept:
            self._chunks.append(kept)

    @property
    def stream(self) -> Stream:
        """What came until now."""
        return Stream(tuple(self._chunks), self._unread)


class ReplyReader:
    """Reads the answers of one conversation. Lists of messages may contain all that was said before.

    Of each text and each value in an answer, at most `most_text` characters are kept. `before` are messages
    from before the conversation.
    """

    def __init__(self, most_text: int = MOST_TEXT, before: Iterable[object] = ()) -> None:
        self._messages = MessageReader(before)
        self.most_text = most_text

    def read(self, value: object) -> Reply:
        """The reply in an answer, as plain data.

        Raises `ValueError` for what can't be one, and `TargetCrashed` for a value that can't be shown.
        """
        if value is None:
            raise ValueError(f"it returned None: {FORMS}; an empty text is fine")
        with at_most(self.most_text):
            reply = self._reply(value)
        if reply is None:
            raise ValueError(f"it returned {described(value)}: {FORMS}")
        return reply

    def _reply(self, value: object) -> Reply | None:
        if isinstance(value, str):
            return said(value)
        if isinstance(value, Stream):
            return self._of_stream(value.chunks, value.unread)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return self._of_sequence(value)
        if (message := _message_in(value)) is not None:
            return self._with_fields(value, self._messages.read([message]))
        for messages in (field_of(value, "messages"), field_of(value, "output")):
            if is_message_list(messages):
                return self._with_fields(value, self._messages.read(messages))
        return _of_fields(value) or _structured(value)

    def _of_stream(self, chunks: tuple[object, ...], unread: int = 0) -> Reply | None:
        strange = [chunk for chunk in chunks if not isinstance(chunk, str)]
        if not strange:
            reply = said("".join(map(str, chunks)))
            return _with_cut(reply, cut_end(reply.text, unread)) if unread else reply
        if len(chunks) == 1 or is_message_list(chunks):
            return self._reply(chunks[0] if len(chunks) == 1 else list(chunks))
        raise ValueError(f"it yielded {described(strange[0])}: yield texts, or one whole answer")

    def _of_sequence(self, value: list[Any] | tuple[Any, ...]) -> Reply | None:
        if is_message_list(value):
            return self._messages.read(value)
        if isinstance(value, tuple):
            return _of_tuple(value)
        # A list of content blocks, as it is in a message's `content`.
        blocks = bool(value) and all(has_field(block, "type") for block in value)
        text = joined_text(value) if blocks else None
        return None if text is None else said(text)

    def _with_fields(self, value: object, reply: Reply) -> Reply:
        """What the answer says beside its messages counts more than they do."""
        about = _of_fields(value)
        changes: dict[str, Any] = {"ended": as_ended(value), **_beside(value)}
        if about is not None:
            changes |= {"text": about.text, "cut": tuple(dict.fromkeys((*reply.cut, *about.cut)))}
        calls, usage = as_tool_calls(field_of(value, "tool_calls")), as_usage(field_of(value, "usage"))
        if calls is not None:
            changes["tool_calls"] = calls
        if usage is not None:
            changes["usage"] = usage
        return dataclasses.replace(reply, **changes)


def as_reply(value: object, most_text: int = MOST_TEXT) -> Reply:
    """The reply in the first answer of a conversation; see `ReplyReader`."""
    return ReplyReader(most_text).read(value)


def _of_tuple(value: tuple[Any, ...]) -> Reply | None:
    if not 2 <= len(value) <= 3 or not isinstance(value[0], str):
        return None
    text, calls, usage = (*value, None)[:3]
    if not (calls is None or isinstance(calls, (list, tuple))):
        return None
    return said(text, as_tool_calls(calls), as_usage(usage))


def said(
    text: str,
    tool_calls: tuple[ToolCall, ...] | None = None,
    usage: Usage | None = None,
    ended: bool = False,
    thoughts: Callable[[], str] = lambda: "",
    cut: tuple[str, ...] = (),
) -> Reply:
    """A reply with this text, which says if the text or the thoughts had to be cut."""
    cuts = Cuts()
    kept = cuts.of("text", lambda: clean_text(text))
    thought = cuts.of("thoughts", thoughts)
    return Reply(kept, tool_calls, usage, ended, thought, cut=cuts.found(cut))


def _with_cut(reply: Reply, text: str) -> Reply:
    return dataclasses.replace(reply, text=text, cut=(*reply.cut, "text"))


def _message_in(value: object) -> object | None:
    """The message that the answer is, or that a provider's answer holds."""
    if is_message(value):
        return value
    choices = field_of(value, "choices")
    holder = choices[0] if isinstance(choices, (list, tuple)) and choices else value
    message = field_of(holder, "message")
    return message if is_message(message) else None


def _of_fields(value: object) -> Reply | None:
    calls, beside = field_of(value, "tool_calls"), _beside(value)
    text = _text_in(value, calls)
    if text is None and beside["pending"]:
        text = ""  # who waits for a person need not have said anything
    if text is None:
        return None
    usage = as_usage(field_of(value, "usage"))
    earlier = value.cut if isinstance(value, Reply) else ()
    reply = said(text, as_tool_calls(calls), usage, as_ended(value), lambda: as_thoughts(value), cut=earlier)
    return dataclasses.replace(reply, **beside)


def _beside(value: object) -> dict[str, Any]:
    """What an answer may have besides words, calls and tokens."""
    startup = as_seconds(field_of(value, "startup"))
    # A time that isn't one (negative, not a number) would make a latency of nonsense.
    usable = startup is not None and 0 <= startup < math.inf
    return {"pending": as_pending(value), "startup": startup if usable else 0.0}


def _text_in(value: object, calls: object) -> str | None:
    for key in _TEXT_KEYS:
        found = field_of(value, key)
        text = joined_text(found)
        if text is None and is_structured(found):
            text = _as_json(found)
        if text is not None:
            return text
    # A message that only calls tools says nothing.
    return "" if calls and has_field(value, "content") else None


def is_structured(value: object) -> bool:
    """Whether it is data with named fields."""
    is_class = isinstance(value, type)
    return not is_class and (isinstance(value, (Mapping, BaseModel)) or dataclasses.is_dataclass(value))


def _structured(value: object) -> Reply | None:
    """Structured output. A reply or a state that lacks its text is a mistake, and not output of this kind."""
    if not is_structured(value) or any(has_field(value, key) for key in _TEXT_KEYS):
        return None
    messages = field_of(value, "messages")
    if messages == []:
        return None
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        # As JSON, all that was said would pass for the agent's words, the user's own included.
        strange = next((one for one in messages if not is_message(one)), messages[0])
        raise ValueError(f"its `messages` can't be read, as {described(strange)} is not a message: {FORMS}")
    return said(_as_json(value))


def _as_json(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False)
