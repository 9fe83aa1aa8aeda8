"""What binds the calls of a recording to their requests, to their replies and to each other.

Each call has a digest of itself and of the call before it in its trial, and the file one of all of them. So
a verdict that was edited, and a call that was added, removed or moved, are found. It is no protection against
an attacker: whoever can edit a recording can also make its digests again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DIGEST = "digest"
_LENGTH = 16

StoredCall = Mapping[str, Any]
"""A call as it is in the file."""


@dataclass(frozen=True)
class SignOfEdit:
    """A sign that a recording isn't as it was written.

    `call` is the number of the first call that differs, from 0; None where each call fits its digest.
    """

    message: str
    call: int | None = None


def with_digests(calls: Iterable[StoredCall]) -> list[dict[str, Any]]:
    """The calls, each with its digest."""
    before: dict[int, str] = {}
    found = []
    for call in calls:
        before[call["trial"]] = digest = _of_call(call, before.get(call["trial"], ""))
        found.append({**call, DIGEST: digest})
    return found


def of_file(calls: Sequence[StoredCall]) -> str:
    """The digest of a whole recording, made of those of its calls."""
    # Not of the times when trials begin: one that was edited fits no recorded request.
    return _digest([call.get(DIGEST, "") for call in calls])


def first_edit(data: Mapping[str, Any]) -> SignOfEdit | None:
    """The first sign that a file was edited. One without a digest, of an earlier release, isn't checked."""
    if not data.get(DIGEST):
        return None
    calls = data["calls"]
    for number, (call, made) in enumerate(zip(calls, with_digests(calls), strict=True)):
        if call.get(DIGEST) != made[DIGEST]:
            message = "this call was edited since it was recorded, or calls were moved or removed"
            return SignOfEdit(message, number)
    if data[DIGEST] != of_file(calls):
        return SignOfEdit("calls were added or removed since it was recorded")
    return None


def _of_call(call: StoredCall, before: str) -> str:
    return _digest([{key: value for key, value in call.items() if key != DIGEST}, before])


def _digest(data: object) -> str:
    # Of the content: the layout of the file and the order of keys make no difference.
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_LENGTH]
