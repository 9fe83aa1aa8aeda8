"""An answer that an agent got from a model, and its form in a recording: exact to the byte."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, field_validator

from .recorded_text import StoredJson, StoredPart, exact_text, stored_text

KEPT_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
"""The headers that are stored: those that clients act on."""

# Vectors of embeddings: thousands of digits that nobody reviews.
_LEAST_PACKED = 2_000
_MOST_UNPACKED = 64 * 1024 * 1024


@dataclass(frozen=True)
class RecordedAnswer:
    """What an agent's client got. `seconds` is how long that took when it was recorded.

    `packed` says that nobody reads the body, so that it is stored in the least space.
    """

    status: int
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    packed: bool = False


class StoredAnswer(StoredPart):
    """The answer as it is in the file."""

    status: int = Field(ge=200, le=599)
    headers: dict[str, str] = Field(default_factory=dict)
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    text: str | tuple[str, ...] | None = None
    json_: StoredJson | None = Field(default=None, alias="json")
    base64: str | None = None
    packed: str | None = None

    @field_validator("base64", "packed")
    @classmethod
    def _is_base64(cls, value: str | None) -> str | None:
        try:
            base64.b64decode(value or "", validate=True)
        except binascii.Error:
            raise ValueError("must be base64") from None
        return value

    @field_validator("packed")
    @classmethod
    def _can_be_unpacked(cls, value: str | None) -> str | None:
        try:
            _ = _unpacked(value) if value is not None else None
        except zlib.error:
            raise ValueError("must be base64 of a whole answer that zlib has packed") from None
        return value

    @field_validator("headers")
    @classmethod
    def _are_known(cls, value: dict[str, str]) -> dict[str, str]:
        # Nobody may have a recording send other headers, or two where there is one.
        if any(name not in KEPT_HEADERS or "\n" in text or "\r" in text for name, text in value.items()):
            raise ValueError(f"must have no other headers than {', '.join(KEPT_HEADERS)}, each of one line")
        return value


def stored_answer(answer: RecordedAnswer) -> dict[str, Any]:
    """The form in the file."""
    headers = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
    return {
        "status": answer.status,
        **({"headers": headers} if headers else {}),
        "seconds": round(answer.seconds, 3),
        **_body(answer),
    }


def _body(answer: RecordedAnswer) -> dict[str, Any]:
    if answer.packed and len(answer.body) >= _LEAST_PACKED:
        return {"packed": _encoded(zlib.compress(answer.body, 9))}
    try:
        return stored_text(answer.body.decode("utf-8"))
    except UnicodeDecodeError:
        return {"base64": _encoded(answer.body)}


def loaded_answer(stored: StoredAnswer) -> RecordedAnswer:
    """The answer that was stored."""
    return RecordedAnswer(
        stored.status, _exact_body(stored), stored.headers, stored.seconds, stored.packed is not None
    )


def _exact_body(stored: StoredAnswer) -> bytes:
    if stored.packed is not None:
        return _unpacked(stored.packed)
    if stored.base64 is not None:
        return base64.b64decode(stored.base64)
    return exact_text(stored.json_, stored.text).encode("utf-8", "surrogatepass")


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _unpacked(text: str) -> bytes:
    """The packed bytes. Raises `zlib.error` also for more than any answer has: a bomb."""
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(base64.b64decode(text), _MOST_UNPACKED)
    if not unpacker.eof:
        raise zlib.error
    return data
