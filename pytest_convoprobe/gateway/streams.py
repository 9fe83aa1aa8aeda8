"""Whether a stream of events, as bytes, has come to its last event."""

from __future__ import annotations

import re

_BLANK = (b"\r\n\r\n", b"\n\n", b"\r\r")
_LAST = re.compile(
    rb"^data: ?\[DONE\]\s*$|^event: ?(?:message_stop|response\.(?:completed|failed|incomplete))\s*$"
    rb'|^data:.*"type" ?: ?"(?:message_stop|response\.(?:completed|failed|incomplete))"',
    re.MULTILINE,
)


def ends_stream(body: bytes | bytearray) -> bool:
    """Whether a stream has come to the event that is its last one in the protocols of model providers."""
    if not body.endswith(_BLANK):
        return False
    end = len(body.rstrip(b"\r\n"))
    begin = max(body.rfind(blank, 0, end) for blank in _BLANK)
    return _LAST.search(body, max(begin, 0)) is not None
