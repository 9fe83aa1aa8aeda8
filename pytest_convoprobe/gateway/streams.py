"""Streams of events as bytes: where each event ends, and which one is the last."""

from __future__ import annotations

import re

EVENT_STREAM = "text/event-stream"

_EVENTS = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r)|.+\Z", re.DOTALL)
_BLANK = (b"\r\n\r\n", b"\n\n", b"\r\r")
_LAST = re.compile(
    rb"^data: ?\[DONE\]\s*$|^event: ?(?:message_stop|response\.(?:completed|failed|incomplete))\s*$"
    rb'|^data:.*"type" ?: ?"(?:message_stop|response\.(?:completed|failed|incomplete))"',
    re.MULTILINE,
)


def events_of(body: bytes) -> list[bytes]:
    """The events of a stream, each with the blank line that ends it; joined, they are the body."""
    return _EVENTS.findall(body)


def ends_stream(body: bytes | bytearray) -> bool:
    """Whether a stream has come to the event that is its last one in the protocols of model providers."""
    if not body.endswith(_BLANK):
        return False
    end = len(body.rstrip(b"\r\n"))
    begin = max(body.rfind(blank, 0, end) for blank in _BLANK)
    return _LAST.search(body, max(begin, 0)) is not None
