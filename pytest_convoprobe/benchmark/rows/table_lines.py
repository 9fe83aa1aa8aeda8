"""The lines of a table's file: what is known of a row stands first, and the row itself last."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ResultsError
from ...files import shown_path
from .work import Row

ROW = b',"row":'
"""What stands before the row."""
NO_ROW = b"null}\n"
"""What stands there instead if there is none."""
_NUMBERS = 6
"""So many are there of what was spent in a role, see `as_numbers`."""


@dataclass(frozen=True)
class TableLine:
    """A line of a table: what stands before its row, where it is, and whether there is a row."""

    head: Mapping[str, Any]
    offset: int
    length: int
    made: bool


def read_lines(path: Path) -> Iterator[TableLine]:
    """The lines of a table, without reading their rows; none if there is no file. Raises `ResultsError`.

    A line that was torn by a killed writer is none, and neither is one that isn't ours.
    """
    offset = 0
    try:
        with path.open("rb") as file:
            for text in file:
                end = text.find(ROW)
                whole = end >= 0 and text.endswith(b"}\n")
                if whole and (head := _head(text[:end] + b"}")) is not None:
                    yield TableLine(head, offset, len(text), text[end + len(ROW) :] != NO_ROW)
                offset += len(text)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, "read", error) from None


def _head(text: bytes) -> Mapping[str, Any] | None:
    try:
        head = json.loads(text)
        texts = (
            head["key"],
            head["id"],
            head["metric"],
            head["digest"],
            head.get("failed", ""),
            head.get("of", ""),
        )
        sample = head["sample"]
        spent = head.get("spent", {}).values()
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    good = all(isinstance(one, str) for one in texts) and isinstance(sample, int)
    return head if good and all(isinstance(one, list) and len(one) == _NUMBERS for one in spent) else None


def encoded(row: Row) -> bytes:
    """Readable in any language, except where a text has halves of characters that UTF-8 doesn't know."""
    try:
        return json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(row).encode("ascii")


def unusable(path: Path, done: str, error: Exception) -> ResultsError:
    """What to raise where the disk refuses a file."""
    reason = getattr(error, "strerror", None) or error
    return ResultsError(f"{shown_path(path)} cannot be {done}: {reason}")
