"""A whole stream of server-sent events, taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .shapes import MOST_ITEMS, mapping, read_data

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(r"\r\n|\n|\r")
DONE = "[DONE]"
EVENT_STREAM = "text/event-stream"
"""The media type of a stream."""


@dataclass(frozen=True)
class WireEvent:
    """One event: its name, its data as text, and the object in that; empty if there is none."""

    name: str
    data: dict[str, Any] = field(repr=False)
    text: str = field(default="", repr=False)

    @property
    def is_done(self) -> bool:
        """Whether this is the mark at the end of a stream of OpenAI's."""
        return self.text == DONE


def is_stream(content_type: str, body: bytes) -> bool:
    """Whether a body is a stream of events: by its type, or by its beginning where it has no known type."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == EVENT_STREAM:
        return True
    return kind in ("", "text/plain", "application/octet-stream") and body.lstrip()[:6] in (
        b"data: ",
        b"event:",
    )


def pieces(body: bytes) -> Iterator[bytes]:
    """The bytes of each event with the empty line after it; joined they are the body."""
    start = 0
    for match in _END.finditer(body):
        yield body[start : match.end()]
        start = match.end()
    if start < len(body):
        yield body[start:]


def read_events(body: bytes) -> Iterator[WireEvent]:
    """The events of a body, at most as many as anybody sends. Comments are left out."""
    for number, piece in enumerate(pieces(body.removeprefix(b"\xef\xbb\xbf"))):
        if number == 50 * MOST_ITEMS:
            return
        event = read_event(piece)
        if event is not None:
            yield event


def read_event(piece: bytes) -> WireEvent | None:
    """One event; None for one without data, such as a comment that keeps the connection alive."""
    name, found = "", []
    for line in _LINE.split(piece.decode("utf-8", "replace")):
        key, _, value = line.partition(":")
        if key == "data":
            found.append(value.removeprefix(" "))
        elif key == "event":
            name = value.strip()
    if not found:
        return None
    text = "\n".join(found)
    return WireEvent(name, _object(text), text)


def _object(text: str) -> dict[str, Any]:
    try:
        return mapping(read_data(text.encode("utf-8", "surrogatepass")))
    except ValueError:
        return {}
