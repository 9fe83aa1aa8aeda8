"""From bytes to text that YAML allows, with the problems of the encoding, and back to lines."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import Problem
from ..files import open_file
from ..problems import Inclusion

MAX_BYTES = 1_000_000
"""The largest file that is read, in bytes: some 500 scenarios."""

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True)
class Text:
    """A file's text; lines are split only when a place is asked for."""

    file: str
    content: str

    @cached_property
    def lines(self) -> list[str]:
        return _BREAK.split(self.content)

    def problem(
        self, message: str, line: int, column: int, path: str = "", chain: tuple[Inclusion, ...] = ()
    ) -> Problem:
        """A problem at a line and column that count from 1; past the end means at the end."""
        if line > len(self.lines) or not self.lines[line - 1].strip():
            line, column = self._last_text(min(line, len(self.lines)))
        return Problem(message, self.file, line, column, path, self.lines[line - 1], included_from=chain)

    def _last_text(self, line: int) -> tuple[int, int]:
        """The end of the last line up to `line` that has something on it."""
        while line > 1 and not self.lines[line - 1].strip():
            line -= 1
        return line, len(self.lines[line - 1]) + 1

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character."""
        before = _BREAK.split(self.content[:offset])
        return len(before), len(before[-1]) + 1


def content_of(path: Path, name: str) -> bytes | Problem:
    """The bytes of a file that people write, or why they can't be had; `name` is the file's in messages."""
    try:
        with open_file(path) as stream:
            data = stream.read(MAX_BYTES + 1)
            size = path.stat().st_size if len(data) > MAX_BYTES else 0
    except IsADirectoryError:
        return Problem("this is a folder, not a file", name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Problem(f"the file can't be read: {reason}", name)
    return Problem(too_large(size), name) if size else data


def decode(data: bytes | str, file: str) -> tuple[Text | None, list[Problem]]:
    """The text of a file and what is wrong with its characters; no text if there is no use in it."""
    if len(data) > MAX_BYTES:
        return None, [Problem(too_large(len(data)), file)]
    if isinstance(data, bytes) and data.startswith(_WIDE_MARKS):
        return None, [Problem("the file is in UTF-16 or UTF-32; save it as UTF-8", file, 1, 1)]
    content, problems = _utf8(data, file) if isinstance(data, bytes) else (data, [])
    content = content[1:] if content.startswith("\ufeff") else content
    bad = _FORBIDDEN.search(content)
    if bad is None:
        return Text(file, content), problems
    clean = Text(file, _FORBIDDEN.sub(_REPLACEMENT, content))
    problems.append(clean.problem(_forbidden(bad.group()), *clean.place(bad.start())))
    return (None if bad.group() == "\0" else clean), problems


def too_large(size: int) -> str:
    """The message for a file of `size` bytes."""
    return (
        f"the file is too large: {size / 1e6:,.1f} MB, and at most {MAX_BYTES / 1e6:.0f} MB are read; "
        "split it into several files"
    )


def _utf8(data: bytes, file: str) -> tuple[str, list[Problem]]:
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        content = data.decode("utf-8", errors="replace")
        offset = len(data[: error.start].decode("utf-8"))
        text = Text(file, content)
        byte = f"0x{data[error.start]:02X} at offset {error.start}"
        message = f"this isn't UTF-8 (the byte {byte}); save the file as UTF-8"
        return content, [text.problem(message, *text.place(offset))]


def _forbidden(character: str) -> str:
    if character == "\0":
        return "a NUL character: this isn't a text file"
    return (
        f"the control character U+{ord(character):04X} isn't allowed in YAML; remove it, "
        f'or write it as "\\u{ord(character):04x}" in double quotes'
    )
