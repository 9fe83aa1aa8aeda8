"""From the events of a stream to one `Reply`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...cutting import at_most, cut_end
from ...settings.http_settings import HttpTarget, StreamSettings
from ...transcript import Reply, ToolCall, Usage
from ..reply_forms import said
from ..reply_parts import as_usage
from .call_pieces import BoundedText, CallPieces
from .paths import keys_in
from .reading import AnswerReader, Carried, EarlierAnswers, error_words, is_true, kind_of, optional_path
from .stream_events import StreamEvent

_DONE = "[DONE]"
"""The data of the last event of OpenAI's streams, which others have taken over."""


class StreamReader:
    """The paths of a target with a stream; raises `SettingsError` for one that can't be read."""

    def __init__(self, settings: HttpTarget, stream: StreamSettings, reader: AnswerReader) -> None:
        self.format = stream.format
        self.answers = reader
        self.answer = optional_path(stream.answer, "target.stream.answer")
        self.done = optional_path(stream.done, "target.stream.done")
        self.finds_errors = settings.error is not None

    def error_in(self, event: Mapping[str, Any]) -> Any:
        """What an event reports as an error, by the path of the settings or by what is common."""
        if self.answers.error is not None:
            return self.answers.error.find(event)
        if event.get("event") == "error" or event.get("type") == "error":
            return event.get("error") or event.get("message") or event.get("data") or True
        return event.get("error")


class StreamedReply:
    """One answer while it comes in. At most `most` characters of each text are kept."""

    def __init__(self, reader: StreamReader, past: EarlierAnswers, most: int) -> None:
        self._reader = reader
        self._answers = reader.answers
        self._past = past
        self._most = most
        self._text = BoundedText(most)
        self._text_found = False
        self._part: object = None
        self._calls = CallPieces(most)
        self._calls_found = False
        self._usage: Usage | None = None
        self._ended = False
        self._is_done = False
        self._whole: Any = None
        self._carried = Carried({})
        self._first: list[Any] = []
        self.events = 0

    def add(self, event: StreamEvent) -> bool:
        """Take an event; whether it is the last one. Raises `ValueError` for one that can't be read."""
        self.events += 1
        value = event.value()
        if found := self._reader.error_in(value):
            raise ValueError(error_words(found))
        self._note(value)
        with at_most(self._most):
            if self._reader.answer is not None:
                self._whole = self._reader.answer.find(value) or self._whole
            else:
                self._take(value)
        self._is_done = self._is_done or is_true(self._reader.done, "stream.done", value)
        return self._is_done or event.data.strip() == _DONE

    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that were reported by now."""
        with at_most(self._most):
            made = self._calls.calls()
        try:
            return self._past.beyond(made)
        except ValueError:
            # The stream broke off before it had repeated all of the earlier calls.
            return ()

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported by now."""
        return self._usage

    def result(self) -> tuple[Reply, Carried]:
        """The reply, after the stream has ended. Raises `ValueError` if something is missing."""
        if not self.events:
            raise ValueError(f"the answer has no events of the format `{self._reader.format}`")
        if self._reader.done is not None and not self._is_done:
            raise ValueError(
                f"the stream broke off: it ended after {self.events} events, and `stream.done` is true in "
                "none of them"
            )
        with at_most(self._most):
            return self._of_whole() if self._reader.answer is not None else (self._joined(), self._carried)

    def _of_whole(self) -> tuple[Reply, Carried]:
        if self._whole is None:
            raise ValueError(
                f"the stream broke off: `stream.answer` finds nothing in its {self.events} events, "
                f"which have {self._keys()}"
            )
        return self._answers.read(self._whole, self._past), self._answers.carried(self._whole)

    def _take(self, value: Any) -> None:
        if (found := self._answers.text.find(value)) is not None:
            self._take_text(found)
        path = self._answers.tool_calls
        if path is not None and (calls := path.find(value)) is not None:
            self._calls_found = True
            self._calls.add(calls)
        path = self._answers.usage
        if path is not None and (usage := path.find(value)) is not None:
            if not isinstance(usage, dict):
                raise ValueError(f"`usage` finds {kind_of(usage)} in an event, not counts of tokens by name")
            self._usage = as_usage(usage) or self._usage
        self._ended = self._ended or self._answers.is_ended(value)
        new = self._answers.carried(value)
        self._carried = Carried(
            {**self._carried.values, **new.values},
            self._carried.forgotten - new.values.keys() | new.forgotten,
        )

    def _take_text(self, found: Any) -> None:
        """A text, or `{id, text}`: texts with different ids are messages of their own."""
        part = self._part
        if isinstance(found, Mapping):
            part, found = found.get("id"), found.get("text")
        if found is None:
            return
        piece = found if isinstance(found, str) else self._answers.text_of(found, self._past)
        if part != self._part and self._text_found and piece:
            self._text.add("\n\n")
        self._part = part
        self._text_found = True
        self._text.add(piece)

    def _joined(self) -> Reply:
        calls = self._made()
        if not self._text_found and not calls:
            raise ValueError(
                f"`text: {self._answers.text.path}` finds nothing in the {self.events} events of the stream, "
                f"which have {self._keys()}"
            )
        reply = said(self._text.text, calls, self._usage, self._ended)
        if self._text.unread:
            reply = replace(reply, text=cut_end(reply.text, self._text.unread), cut=(*reply.cut, "text"))
        return replace(reply, gaps=dict(self._gaps()))

    def _made(self) -> tuple[ToolCall, ...] | None:
        if self._answers.tool_calls is None:
            return None
        if not self._calls_found:
            return () if self._answers.tool_calls_optional else None
        return self._past.new(self._calls.calls(over=not self._text.text.strip()))

    def _gaps(self) -> list[tuple[str, str]]:
        gaps = []
        if self._answers.tool_calls is not None and not self._calls_found:
            nothing = f"`target.tool_calls: {self._answers.tool_calls.path}` finds nothing in the events"
            gaps.append(("tool_calls", f"{nothing}, which have {self._keys()}{self._answers.advice()}"))
        if self._answers.usage is not None and self._usage is None:
            nothing = f"`target.usage: {self._answers.usage.path}` finds no counts of tokens in the events"
            gaps.append(("usage", f"{nothing}, which have {self._keys()}. Correct the path"))
        return gaps

    def _note(self, value: Mapping[str, Any]) -> None:
        # The first events often say little: one of each kind is enough for a message.
        kind = (value.get("event"), value.get("type"))
        if len(self._first) < 8 and kind not in [(one.get("event"), one.get("type")) for one in self._first]:
            self._first.append(value)

    def _keys(self) -> str:
        both: dict[str, Any] = {}
        for value in self._first:
            both |= {key: item for key, item in value.items() if key not in both or both[key] is None}
        return keys_in(both)
