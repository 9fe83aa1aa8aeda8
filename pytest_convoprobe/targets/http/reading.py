"""From the data in an answer to a `Reply`, and to what `session` remembers of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...cutting import not_too_many
from ...settings.http_settings import HttpTarget
from ...transcript import Reply, SaidBefore, ToolCall, Usage
from ..earlier_messages import as_chat
from ..message_lists import MessageReader, is_message_list
from ..reply_forms import said
from ..reply_parts import as_tool_call, as_usage, field_of, joined_text
from .paths import AnswerPath, keys_in

_SHORTEST_ERROR = "the service reports an error"


class EarlierAnswers:
    """What earlier answers of a conversation contained, for services that repeat it in each answer."""

    def __init__(self, *, repeated: bool, history: Sequence[SaidBefore] = ()) -> None:
        self._repeated = repeated
        self._before = as_chat(history)
        self._given = tuple(call for said in history for call in said.tool_calls)
        self._readers: dict[str, MessageReader] = {}
        self._calls: tuple[ToolCall, ...] = ()

    def reader(self, part: str) -> MessageReader:
        """What reads the lists of messages of one part of the answers, such as `"text"`."""
        # Where nothing is repeated, a list that begins as the last one did is not the same list.
        reader = MessageReader(self._before)
        return self._readers.setdefault(part, reader) if self._repeated else reader

    def new(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """The calls that no earlier answer had. Raises `ValueError` for a list that doesn't go on."""
        found = self.beyond(calls)
        self._calls = calls if self._repeated else ()
        return found

    def beyond(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """The same for an answer that may still grow."""
        earlier = self._calls or self._given_before(calls)
        if all(call.id for call in (*earlier, *calls)):
            # Counted, and not the id alone: some services number the calls of each turn from one.
            known = Counter(map(_identity, earlier))
            return tuple(call for call in calls if not _taken(known, _identity(call)))
        # The results may have come later, so they don't decide.
        same = [_asked(call) for call in calls[: len(earlier)]] == [_asked(call) for call in earlier]
        if not same:
            raise ValueError(
                "`history_in_answer` is set, but the tool calls of this answer don't begin with those of "
                "the last"
            )
        return calls[len(earlier) :]

    def _given_before(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """The calls from before the conversation, if the first answer begins with them."""
        begins = [_asked(call) for call in calls[: len(self._given)]] == [_asked(one) for one in self._given]
        return calls[: len(self._given)] if self._repeated and begins else ()


def _identity(call: ToolCall) -> tuple[str, str, str]:
    return call.id, call.name, repr(call.arguments)


def _taken(known: Counter[tuple[str, str, str]], one: tuple[str, str, str]) -> bool:
    known[one] -= 1
    return known[one] >= 0


def _asked(call: ToolCall) -> tuple[str, Mapping[str, Any]]:
    return call.name, call.arguments


@dataclass(frozen=True)
class Carried:
    """What an answer says for the next request: new values by name, and names that have none any more."""

    values: Mapping[str, Any]
    forgotten: frozenset[str] = frozenset()


class AnswerReader:
    """Picks text, tool calls and usage out; raises `SettingsError` for a JMESPath that can't be read.

    What a path doesn't find isn't reported, which is not the same as none.
    """

    def __init__(self, settings: HttpTarget) -> None:
        self.text = AnswerPath(settings.text, "target.text")
        self.tool_calls = optional_path(settings.tool_calls, "target.tool_calls")
        self.usage = optional_path(settings.usage, "target.usage")
        self.ended = optional_path(settings.ended, "target.ended")
        self.error = optional_path(settings.error, "target.error")
        self._carry = {
            name: AnswerPath(path, f"target.carry.{name}") for name, path in settings.carry.items()
        }
        self.tool_calls_optional = settings.tool_calls_optional

    def read(self, data: Any, past: EarlierAnswers) -> Reply:
        """The reply in an answer. Raises `ValueError` saying what is wrong with the answer."""
        self.refuse_errors(data)
        text, calls, usage = self._text_in(data, past), self._calls_in(data, past), self._usage_in(data, past)
        reply = said(text, calls, usage, ended=self.is_ended(data))
        return replace(reply, gaps=dict(self._gaps(data, calls, usage)))

    def greeting(self, data: Any, path: AnswerPath, past: EarlierAnswers) -> Reply:
        """What the agent says first, at `path` of the answer that opens a session. Raises `ValueError`."""
        text = joined_text(path.find(data))
        if text is None:
            raise ValueError(
                f"`start.text: {path.path}` finds no text in the answer, which has {keys_in(data)}"
            )
        calls, usage = self._calls_in(data, past), self._usage_in(data, past)
        return replace(said(text, calls, usage), gaps=dict(self._gaps(data, calls, usage)))

    def carried(self, data: Any) -> Carried:
        """What the next request may need. Raises `ValueError` for a path that doesn't fit."""
        found = {name: path.look_up(data) for name, path in self._carry.items()}
        values = {name: value for name, value in found.items() if value is not None and value is not False}
        return Carried(values, frozenset(name for name, value in found.items() if value is False))

    def refuse_errors(self, data: Any) -> None:
        """Raise `ValueError` if the answer is an error."""
        found = None if self.error is None else self.error.find(data)
        if found:
            raise ValueError(error_words(found))

    def is_ended(self, data: Any) -> bool:
        """Whether the agent has ended the conversation. Raises `ValueError` for what is not true or false."""
        return is_true(self.ended, "ended", data)

    def text_of(self, found: Any, past: EarlierAnswers) -> str:
        """What the path of the text has found, as text."""
        if is_messages(found):
            return past.reader("text").read(found).text
        text = joined_text(found)
        if text is None:
            raise ValueError(f"`text: {self.text.path}` finds {kind_of(found)} in the answer, not a text")
        return text

    def _text_in(self, data: Any, past: EarlierAnswers) -> str:
        found = self.text.find(data)
        if found is None:
            raise ValueError(
                f"`text: {self.text.path}` finds nothing in the answer, which has {keys_in(data)}"
            )
        return self.text_of(found, past)

    def _calls_in(self, data: Any, past: EarlierAnswers) -> tuple[ToolCall, ...] | None:
        if self.tool_calls is None:
            return None
        found = self.tool_calls.find(data)
        if is_messages(found):
            calls = past.reader("tool_calls").read(found, may_be_silent=True).tool_calls
            return () if calls is None and self.tool_calls_optional else calls
        if found is None:
            return () if self.tool_calls_optional else None
        if not isinstance(found, (list, dict)):
            raise ValueError(f"`tool_calls` finds {kind_of(found)} in the answer, not a list")
        calls = tuple(map(as_tool_call, not_too_many(found if isinstance(found, list) else [found])))
        return past.new(calls)

    def _usage_in(self, data: Any, past: EarlierAnswers) -> Usage | None:
        found = None if self.usage is None else self.usage.find(data)
        if isinstance(found, list) and is_messages(found):
            return past.reader("usage").read(found, may_be_silent=True).usage
        if found is not None and not isinstance(found, dict):
            raise ValueError(f"`usage` finds {kind_of(found)} in the answer, not counts of tokens by name")
        return as_usage(found)

    def _gaps(
        self, data: Any, calls: tuple[ToolCall, ...] | None, usage: Usage | None
    ) -> Iterator[tuple[str, str]]:
        """What is missing in the answer, although the settings say where it should be."""
        if self.tool_calls is not None and self.tool_calls.find(data) is None:
            yield "tool_calls", f"{_finds_nothing('tool_calls', self.tool_calls, data)}{self.advice()}"
        elif self.tool_calls is not None and calls is None:
            yield "tool_calls", f"`target.tool_calls` finds messages that name no tool calls{self.advice()}"
        if self.usage is not None and usage is None:
            nothing = _finds_nothing("usage", self.usage, data)
            yield "usage", f"{nothing}. Correct the path; it must find the tokens of prompt and completion"

    def advice(self) -> str:
        """What to do where tool calls are not found."""
        if self.tool_calls_optional:
            return " (`target.tool_calls_optional` takes that for no tool calls)"
        return (
            ". Correct the path; if the service leaves the tool calls out where there are none, set "
            "`target.tool_calls_optional: true`"
        )


def is_messages(found: Any) -> bool:
    """Whether a path has found messages, and not tool calls that only look like them."""
    if not isinstance(found, list) or not is_message_list(found):
        return False
    return not all(_is_bare_call(one) for one in found)


def _is_bare_call(value: Any) -> bool:
    """LangChain's `{type: tool_call, name, args}` and the like, but no item of the Responses API."""
    kind = str(field_of(value, "type"))
    return kind.endswith("_call") and kind != "function_call" and field_of(value, "role") is None


def is_true(path: AnswerPath | None, key: str, data: Any) -> bool:
    """What a path finds that says yes or no. Raises `ValueError` for anything else."""
    found = None if path is None else path.find(data)
    if found is not None and not isinstance(found, bool):
        # A text such as "false" would count as true.
        raise ValueError(
            f"`{key}` finds {kind_of(found)} in the answer, not true or false: compare it with something, "
            "as in `status == 'closed'`"
        )
    return bool(found)


def error_words(found: Any) -> str:
    """An error that a service reports, for a message."""
    message = field_of(found, "message") if isinstance(found, Mapping) else found
    words = message if isinstance(message, str) and message.strip() else None
    return f"{_SHORTEST_ERROR}: {words}" if words else _SHORTEST_ERROR


def _finds_nothing(key: str, path: AnswerPath, data: Any) -> str:
    what = "nothing" if path.find(data) is None else "no counts of tokens"
    return f"`target.{key}: {path.path}` finds {what} in the answer, which has {keys_in(data)}"


def optional_path(path: str | None, key: str) -> AnswerPath | None:
    """The path of a setting that may be left out."""
    return None if path is None else AnswerPath(path, key)


def kind_of(value: Any) -> str:
    """What kind of JSON value it is, for a message."""
    kinds = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "a text")


def kept_names(paths: Mapping[str, AnswerPath], data: Any) -> Mapping[str, Any]:
    """What the answer that opens a session gives: by path, or its own keys if there are no paths."""
    if not paths:
        return dict(data) if isinstance(data, Mapping) else {}
    found = {name: path.find(data) for name, path in paths.items()}
    missing: Sequence[str] = [name for name, value in found.items() if value is None]
    if missing:
        path = paths[missing[0]].path
        raise ValueError(
            f"`start.keep.{missing[0]}: {path}` finds nothing in the answer, which has {keys_in(data)}"
        )
    return found
