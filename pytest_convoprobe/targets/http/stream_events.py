"""Bytes of a stream as events: server-sent events, or a JSON value in each line.

What comes in may be cut anywhere: within a letter, a line or an event.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...outside_json import read_json

_LINE_END = re.compile(r"\r\n|\n|\r")
_DEFAULT_NAME = "message"


@dataclass(frozen=True)
class StreamEvent:
    """One event: its name (`message` if it has none), and its data as text."""

    data: str = field(repr=False)
    name: str = _DEFAULT_NAME

    def value(self) -> dict[str, Any]:
        """What JMESPaths are applied to: the JSON object, with the event's name as `event`.

        Data that is not an object is under `data`. An object's own `event` takes precedence.
        """
        try:
            data = read_json(self.data)
        except ValueError:
            data = self.data
        return {"event": self.name, **(data if isinstance(data, dict) else {"data": data})}


class _Lines:
    """Text in pieces, taken apart into lines; at most `most` characters of one line are kept.

    A line that is longer can't be read, so `ValueError` is raised for it.
    """

    def __init__(self, most: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []
        self._size = 0
        self._most = most
        self._after_cr = False
        self._is_first = True

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[str]:
        text = self._decoder.decode(piece, last)
        if self._is_first and text:
            text, self._is_first = text.removeprefix("\ufeff"), False
        if self._after_cr and text:
            # The line feed of a pair that was cut in two.
            text, self._after_cr = text.removeprefix("\n"), False
        start = 0
        for match in _LINE_END.finditer(text):
            yield self._whole(text[start : match.start()])
            start = match.end()
        self._after_cr = self._after_cr or (text.endswith("\r") and start == len(text))
        self._keep(text[start:])
        if last and self._pieces:
            yield self._whole("")

    def _whole(self, end: str) -> str:
        self._keep(end)
        line = "".join(self._pieces)
        self._pieces, self._size = [], 0
        return line

    def _keep(self, piece: str) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise ValueError(f"one line of the stream is longer than {self._most} characters")
        if piece:
            self._pieces.append(piece)


class SseParser:
    """Server-sent events, as the HTML standard reads them. Comments are ignored: they keep a stream alive."""

    def __init__(self, most: int) -> None:
        self._lines = _Lines(most)
        self._most = most
        self._data: list[str] = []
        self._name = ""
        self._size = 0

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[StreamEvent]:
        """The events that are complete now. Raises `ValueError` for one that is too large.

        With `last`, also the one that only lacks its empty line: many services leave that out.
        """
        for line in self._lines.feed(piece, last=last):
            if line:
                self._take(line)
            else:
                yield from self._event()
        if last:
            self._require_whole()
            yield from self._event()

    def _require_whole(self) -> None:
        """Raise `ValueError` if the stream has ended within the JSON of an event."""
        data = "\n".join(self._data)
        if data.startswith("{"):
            try:
                read_json(data)
            except ValueError as error:
                raise ValueError(f"the stream broke off within an event: {error}") from None

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._size += len(value)
            if self._size > self._most:
                raise ValueError(f"one event of the stream is longer than {self._most} characters")
            self._data.append(value)

    def _event(self) -> Iterator[StreamEvent]:
        data, name = self._data, self._name
        self._data, self._name, self._size = [], "", 0
        # The standard drops events without data; some services end a stream with a bare name.
        if data or name:
            yield StreamEvent("\n".join(data), name or _DEFAULT_NAME)


class NdjsonParser:
    """A JSON value in each line. Empty lines keep a stream alive."""

    def __init__(self, most: int) -> None:
        self._lines = _Lines(most)

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[StreamEvent]:
        """The lines that are complete now. Raises `ValueError` for one that is too large or isn't JSON."""
        for line in self._lines.feed(piece, last=last):
            if line.strip():
                try:
                    read_json(line)
                except ValueError as error:
                    raise ValueError(f"a line of the stream is not JSON: {error}") from None
                yield StreamEvent(line)


class EventParser(Protocol):
    """Takes the bytes of a stream and gives its events."""

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[StreamEvent]: ...


PARSERS: dict[str, Callable[[int], EventParser]] = {"sse": SseParser, "ndjson": NdjsonParser}
"""What reads each format of `stream`."""
