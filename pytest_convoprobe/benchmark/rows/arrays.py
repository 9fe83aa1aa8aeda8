"""Reads JSON arrays of rows one after the other, whoever wrote them, and says what could not be read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO, TypeVar

from ...errors import ResultsError
from ...files import cannot, open_file
from ...formatting import counted
from .other_names import in_our_words
from .reading import not_an_object

T = TypeVar("T")

_CHUNK = 1 << 20
_SHOWN = 3
_BLANK = re.compile(r"[ \t\r\n]*")
# Where a row begins that is on a line of its own, as in the files that we write.
_ROW_ON_A_LINE = re.compile(r"\r?\n(?=\{)")
_OWN_HEAD = re.compile(rb'\{"id": ?"([^"\\]+)", ?"metric_id": ?"[^"\\]*", ?"sample": ?(\d+), ?"')


@dataclass(frozen=True)
class Broken:
    """A part of a file that isn't JSON. Reading continues with the next row on a line of its own."""

    reason: str


def read_rows(path: Path, parse: Callable[[Any], T], unread: list[str]) -> Iterator[T]:
    """The rows of a JSON array, each made by `parse`, which raises `ResultsError`; none if there is no file.

    What cannot be read is added to `unread`, in words, and the other rows are read all the same.
    """
    for number, item in enumerate(items(path), 1):
        if isinstance(item, Broken):
            unread.append(f"row {number}: {item.reason}")
            continue
        try:
            yield parse(item)
        except ResultsError as error:
            unread.append(f"row {number}: {error}")


def unread_notes(file: str, unread: Sequence[str]) -> list[str]:
    """One note with the number of rows and the first reasons; none where all was read."""
    if not unread:
        return []
    more = f"; and {len(unread) - _SHOWN} more" if len(unread) > _SHOWN else ""
    return [f"{counted(len(unread), 'row')} of {file} could not be read: {'; '.join(unread[:_SHOWN])}{more}"]


def items(path: Path) -> Iterator[Any]:
    """The items of a JSON array in a file, a `Broken` in the place of what is none. Nothing without a file.

    No more than an item and a megabyte are in memory at once.
    """
    try:
        file = TextIOWrapper(open_file(path), encoding="utf-8-sig", errors="replace", newline="")
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultsError(cannot(path, "read", error)) from None
    with file:
        yield from _Scanner(file).items()


def array_of(texts: Iterator[bytes]) -> Iterator[bytes]:
    """The text of a JSON array, one row a line; `texts` are those of the rows."""
    yield b"["
    separator = b"\n"
    for text in texts:
        yield separator + text
        separator = b",\n"
    yield b"\n]\n"


def conversation_places(path: Path, unread: list[str]) -> Iterator[tuple[str, int]]:
    """Id and sample of each conversation of a file.

    Of files that we wrote only the beginning of each line is looked at: conversations are long.
    """
    own = _own_places(path)
    if own is not None:
        yield from own
        return
    yield from read_rows(path, _place, unread)


def all_ours(path: Path) -> bool:
    """Whether every line but the brackets is a row that we wrote: with its key. So it is without a file."""
    try:
        with open_file(path) as file:
            return all(
                line.strip() in (b"[", b"]", b"[]", b"") or (_OWN_HEAD.match(line) and b'"key": "' in line)
                for line in file
            )
    except OSError:
        return True


def _own_places(path: Path) -> list[tuple[str, int]] | None:
    """The places if every line but the brackets is a row of ours; None if not."""
    places = []
    try:
        with open_file(path) as file:
            if file.readline(3).strip() not in (b"[", b"[]", b""):
                return None  # others may have all rows on one line
            for line in file:
                if (found := _OWN_HEAD.match(line)) and line.rstrip().endswith((b"}", b"},")):
                    places.append((found[1].decode("utf-8", "replace"), int(found[2])))
                elif line.strip() not in (b"[", b"]", b"[]", b""):
                    return None
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ResultsError(cannot(path, "read", error)) from None
    return places


def _place(data: Any) -> tuple[str, int]:
    if not isinstance(data, dict):
        raise not_an_object(data, "conversation")
    row = in_our_words(data)
    found, sample = row.get("id"), row.get("sample")
    sample = 1 if sample is None else sample
    if not isinstance(found, str) or not isinstance(sample, int) or isinstance(sample, bool):
        raise ResultsError("the conversation has no `id` that is a text, or its `sample` is not a number")
    return found, sample


class _Scanner:
    """A window over a file that moves on as items are decoded."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._decode = json.JSONDecoder().raw_decode

    def items(self) -> Iterator[Any]:
        first = self._next()
        if first != "[":
            if first:
                yield Broken("the file has no JSON array")
            return
        self._at += 1
        while (mark := self._next()) not in ("]", ""):
            if mark == ",":
                self._at += 1
                continue
            yield self._item()
        if not mark:
            yield Broken("the file breaks off before the end of its array")

    def _next(self) -> str:
        """The next character that isn't blank, which stays; empty at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _item(self) -> Any:
        while True:
            try:
                item, end = self._decode(self._text, self._at)
            except ValueError as error:
                if not self._more():
                    return self._broken(f"not JSON ({error.args[0]})")
            except RecursionError:
                return self._broken("nested too deeply")
            else:
                # A number may continue behind the window.
                if end < len(self._text) or not self._more():
                    self._at = end
                    return item

    def _more(self) -> bool:
        """Moves the window on; it grows with what is in it, or long items would be decoded too often."""
        rest = self._text[self._at :]
        chunk = self._file.read(max(_CHUNK, len(rest)))
        self._text, self._at = rest + chunk, 0
        return bool(chunk)

    def _broken(self, reason: str) -> Broken:
        """Goes on with the next row on a line of its own, else to the end."""
        found = _ROW_ON_A_LINE.search(self._text, self._at)
        self._at = found.end() if found else len(self._text)
        return Broken(reason)
