"""Messages and lists of messages as a reply: OpenAI's form, and others that are read the same way.

A message has a `role` (or a LangChain `type`: `ai`, `human`, `tool`) and a `content`. Items of OpenAI's
Responses API (`function_call`, `function_call_output`), Anthropic's content blocks (`tool_use`,
`tool_result`) and pairs `("assistant", "text")` are read too. The shape decides, not the class: no library
has to be imported for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ..cutting import not_too_many
from ..transcript import Reply, ToolCall, Usage
from .plain_values import clean_text, plain
from .reply_parts import (
    Cuts,
    as_arguments,
    as_thoughts,
    as_tool_call,
    as_usage,
    field_of,
    first_field,
    has_field,
    is_marked_failed,
    joined_text,
)

_ASSISTANT, _USER, _TOOL, _OTHER = "assistant", "user", "tool", "other"

_ROLES = {
    "assistant": _ASSISTANT,
    "ai": _ASSISTANT,
    "aimessagechunk": _ASSISTANT,
    "model": _ASSISTANT,
    "user": _USER,
    "human": _USER,
    "humanmessagechunk": _USER,
    "tool": _TOOL,
    "toolmessagechunk": _TOOL,
    "function": _TOOL,
    "system": _OTHER,
    "developer": _OTHER,
}
_NO_CALLS = (
    "Its messages name no tool calls, but a list of messages may leave them out. Return the messages with "
    "`tool_calls: []` where no tool was called"
)
_CONTENTS = ("content", "parts", "text", "tool_calls", "function_call", "refusal")
_CALL, _CALL_OUTPUT = "_call", "_call_output"  # how the types of items end that are calls of tools


@dataclass(frozen=True)
class _Call:
    id: object
    call: ToolCall


@dataclass(frozen=True)
class _Result:
    """What a tool gave; `id` or `name` says for which call."""

    id: object
    name: object
    value: Any
    error: str | None
    cut: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Message:
    """A message as plain data. `names_tools` is whether it has a list of tool calls, None without the key.

    `cut` is as in `Reply`.
    """

    role: str
    text: str = ""
    calls: tuple[_Call, ...] = ()
    results: tuple[_Result, ...] = ()
    usage: Usage | None = None
    thoughts: str = ""
    names_tools: bool | None = None
    cut: tuple[str, ...] = ()


def is_message(value: object) -> bool:
    """Whether it has the shape of a message."""
    return _role_of(value) is not None


def is_message_list(value: object) -> bool:
    """Whether it is a list of messages, and has at least one."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
        return False
    return bool(value) and all(map(is_message, value))


class MessageReader:
    """Reads the messages that the answers of one conversation consist of.

    An answer may have all messages of the conversation or only new ones: those after the user's last message
    count, and of a list that only grows, those that it has grown by. `before` are messages from before the
    conversation, which say nothing about the agent.
    """

    def __init__(self, before: Iterable[object] = ()) -> None:
        self._before = [_read(message) for message in before]
        self._earlier = self._before
        self._reports_tools = False

    def read(self, messages: Iterable[object], *, may_be_silent: bool = False) -> Reply:
        """The reply in the new messages.

        Raises `ValueError` if the assistant has none among them, unless it `may_be_silent`.
        """
        found = [_read(message) for message in messages]
        new = self._new(found)
        if not may_be_silent and not any(message.role == _ASSISTANT for message in new):
            raise ValueError(
                "its messages have none with the role `assistant` after the user's last one: "
                "add the answer before you return them"
            )
        self._notice_tools(found)
        said = [message for message in new if message.role == _ASSISTANT]
        cuts = Cuts()
        return Reply(
            cuts.of("text", lambda: clean_text(_joined(message.text for message in said))),
            tuple(_calls(new, _interrupted(found, new))) if self._reports_tools else None,
            _usage(said),
            thoughts=cuts.of("thoughts", lambda: clean_text(_joined(message.thoughts for message in said))),
            gaps={} if self._reports_tools else {"tool_calls": _NO_CALLS},
            cut=cuts.found(part for message in said for part in message.cut),
        )

    def _new(self, found: list[_Message]) -> list[_Message]:
        earlier, self._earlier = self._earlier, found
        grown = len(found) > len(earlier) and found[: len(earlier)] == earlier
        return found[max(len(earlier) if grown else 0, _after_user(found)) :]

    def _notice_tools(self, found: list[_Message]) -> None:
        # A chat history may leave tool calls out, so their absence says nothing until one has been seen. An
        # explicit "no calls" counts in a list that has the whole turn; a last message alone may hide others.
        whole = _after_user(found) > 0
        self._reports_tools = self._reports_tools or any(
            bool(message.calls or message.results or message.names_tools)
            or (whole and message.names_tools is not None)
            for message in found
            if message not in self._before
        )


def _after_user(messages: Sequence[_Message]) -> int:
    places = [place for place, message in enumerate(messages, 1) if message.role == _USER]
    return places[-1] if places else 0


def _interrupted(found: Sequence[_Message], new: Sequence[_Message]) -> tuple[_Call, ...]:
    """The calls that the last message before the new ones asks for: an answer may have ended there."""
    before = found[: len(found) - len(new)]
    return before[-1].calls if before and not before[-1].text.strip() else ()


def _calls(messages: Sequence[_Message], interrupted: Sequence[_Call] = ()) -> Iterator[ToolCall]:
    """The calls in order, each with the result that belongs to it.

    Those that a last message asks for, without a word to the user, were never carried out: the agent was
    interrupted there. If it goes on later, they are the calls of the answer that has their results.
    """
    asked = len(messages[-1].calls) if messages and not messages[-1].text.strip() else 0
    answered = {result.id for message in messages for result in message.results if result.id is not None}
    late = [call for call in interrupted if call.id in answered]
    waiting: list[_Call | None] = [*late, *(call for message in messages for call in message.calls)]
    made = [call.call for call in waiting if call is not None]
    for result in (result for message in messages for result in message.results):
        place = next((n for n, call in enumerate(waiting) if _belongs(result, call)), None)
        if place is not None:
            made[place] = _answered(made[place], result)
            waiting[place] = None
    for place in range(len(made) - asked, len(made)):
        if waiting[place] is not None:
            made[place] = replace(made[place], executed=False)
    yield from made


def _answered(call: ToolCall, result: _Result) -> ToolCall:
    unreported = tuple(part for part in call.unreported if part != "result")
    # A list of messages must answer every call: after torn arguments, with a complaint that proves no call.
    cut = tuple(dict.fromkeys((*call.cut, *result.cut)))
    return replace(call, result=result.value, error=result.error, unreported=unreported, cut=cut)


def _belongs(result: _Result, call: _Call | None) -> bool:
    if call is None:
        return False
    if result.id is not None and call.id is not None:
        return result.id == call.id
    return result.name is None or result.name == call.call.name


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(str.strip, texts))


def _usage(said: Iterable[_Message]) -> Usage | None:
    """The tokens, if every message of the assistant has them: a part would look like a small total."""
    spent = [message.usage for message in said]
    known = [usage for usage in spent if usage is not None]
    return sum(known, Usage()) if known and len(known) == len(spent) else None


# One message


def _role_of(value: object) -> str | None:
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        is_pair = len(value) == 2 and all(isinstance(part, str) for part in value)
        return _ROLES.get(value[0].lower()) if is_pair else None
    kind = field_of(value, "type")
    if isinstance(kind, str) and (item := _role_of_item(value, kind)) is not None:
        return item
    role = field_of(value, "role")
    role = role.value if isinstance(role, Enum) else role
    found = next((_ROLES.get(name.lower()) for name in (role, kind) if isinstance(name, str)), None)
    has_content = any(has_field(_inner(value), key) for key in _CONTENTS)
    return found if has_content else None


def _role_of_item(value: object, kind: str) -> str | None:
    """The role of an item of the Responses API that has none."""
    if kind == "reasoning":
        return _OTHER
    if kind.endswith(_CALL_OUTPUT):
        return _TOOL
    is_call = kind.endswith(_CALL) and (has_field(value, "call_id") or has_field(value, "id"))
    return _ASSISTANT if is_call else None


def _inner(value: object) -> object:
    """The message itself: LangChain's `messages_to_dict` puts it under `data`."""
    inner = field_of(value, "data")
    return inner if isinstance(inner, dict) and "content" in inner else value


def _read(value: object) -> _Message:
    role = _role_of(value) or _OTHER
    if isinstance(value, tuple):
        return _Message(role, clean_text(value[1]))
    kind = field_of(value, "type")
    if isinstance(kind, str) and kind.endswith(_CALL_OUTPUT):
        return _Message(
            role, results=(_result(value, field_of(value, "call_id"), field_of(value, "output")),)
        )
    if isinstance(kind, str) and kind.endswith(_CALL):
        return _Message(role, calls=(_call_of_item(value, kind),))
    return _read_message(role, _inner(value))


def _read_message(role: str, value: object) -> _Message:
    content, cuts = first_field(value, "content", "parts", "text", "refusal"), Cuts()
    text = cuts.of("text", lambda: clean_text(joined_text(content) or ""))
    if role == _TOOL:
        result = _result(value, first_field(value, "tool_call_id", "call_id", "id"), content)
        return _Message(role, results=(result,))
    results = tuple(
        _result(block, field_of(block, "tool_use_id"), field_of(block, "content"))
        for block in _blocks(content, "tool_result")
    )
    if results and not text:
        role = _TOOL  # Anthropic gives the results of tools the role of the user
    listed = field_of(value, "tool_calls")
    names_tools = isinstance(listed, (list, tuple)) if has_field(value, "tool_calls") else None
    usage = as_usage(field_of(value, "usage_metadata"))
    calls = tuple(_calls_in(value, listed, content))
    thoughts = cuts.of("thoughts", lambda: as_thoughts(value))
    return _Message(role, text, calls, results, usage, thoughts, names_tools, cuts.found())


def _calls_in(value: object, listed: object, content: object) -> Iterator[_Call]:
    """The calls that a message asks for. Some libraries name each of them twice: the list comes first."""
    for call in field_of(value, "invalid_tool_calls") or ():
        # LangChain's list of calls whose arguments can't be parsed: an attempt all the same.
        name = field_of(call, "name") or "(without a name)"
        arguments = as_arguments(field_of(call, "args"))
        yield _Call(_id(call), ToolCall(clean_text(name), arguments, executed=False))
    if isinstance(listed, (list, tuple)) and listed:
        yield from (_Call(_id(call), as_tool_call(call)) for call in not_too_many(listed))
        return
    yield from (_Call(_id(block), as_tool_call(block)) for block in _blocks(content, "tool_use"))
    if (older := field_of(value, "function_call")) is not None:
        yield _Call(None, as_tool_call(older))


def _blocks(content: object, kind: str) -> list[Any]:
    blocks = content if isinstance(content, (list, tuple)) else ()
    return [block for block in blocks if not isinstance(block, str) and field_of(block, "type") == kind]


def _call_of_item(value: object, kind: str) -> _Call:
    name, cuts = field_of(value, "name"), Cuts()
    return _Call(
        plain(first_field(value, "call_id", "id")),
        ToolCall(
            clean_text(name if isinstance(name, str) else kind.removesuffix(_CALL)),
            cuts.of("arguments", lambda: as_arguments(first_field(value, "arguments", "input", "action"))),
            cuts.of("result", lambda: plain(field_of(value, "output"))),
            unreported=() if has_field(value, "output") else ("result",),
            cut=cuts.found(),
        ),
    )


def _result(value: object, identity: object, content: object) -> _Result:
    text, failed, name, cuts = joined_text(content), is_marked_failed(value), field_of(value, "name"), Cuts()
    part = "error" if failed else "result"
    shown = cuts.of(part, lambda: plain(content) if text is None else clean_text(text))
    error = str(shown) if failed else None
    return _Result(plain(identity), plain(name), None if failed else shown, error, cuts.found())


def _id(value: object) -> object:
    return plain(field_of(value, "id"))
