"""What commands print: for a terminal cut and coloured to fit, for a pipe plain and whole, or JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, TextIO

import click

from ..text import harmless, one_line, to_ascii

_SIGNS = "…▁█✓✗→"
_PLAIN = {"…": "...", "→": "->", "✓": "ok", "✗": "x", "±": "+-", "·": " "}
_PLAIN.update(zip("▁▂▃▄▅▆▇█", "_.,-=+*#", strict=True))


@dataclass(frozen=True)
class Console:
    """Where the output goes. `width` is None for a pipe or a file: there nothing is cut."""

    width: int | None = None
    color: bool = False
    unicode: bool = True
    encoding: str = "utf-8"

    @classmethod
    def of(cls, stream: TextIO | None = None) -> Console:
        """The one that a stream, stdout by default, is."""
        out = sys.stdout if stream is None else stream
        terminal = out.isatty()
        return cls(
            # Some CI systems give a terminal of 0 or 1 columns.
            width=max(20, shutil.get_terminal_size().columns) if terminal else None,
            color=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
            unicode=_can_write(out, _SIGNS),
            encoding=out.encoding or "ascii",
        )

    def safe(self, text: str) -> str:
        """Text from anywhere on one line: nothing in it moves a terminal or commands a CI system."""
        return self.ours(one_line(harmless(text)))

    def ours(self, text: str) -> str:
        """Text that is known to be harmless, in the characters that can be shown."""
        if self.unicode:
            return text
        return to_ascii("".join(_PLAIN.get(character, character) for character in text))

    def paint(self, text: str, color: str) -> str:
        """The text in a colour of click's, `bold` or `faint`, where there are colours."""
        if not self.color or not color or not text:
            return text
        if color in ("bold", "faint"):
            return click.style(text, bold=color == "bold" or None, dim=color == "faint" or None)
        return click.style(text, fg=color)

    def say(self, text: str = "", color: str = "") -> None:
        """A line of our own words; what came from elsewhere has been through `safe`."""
        click.echo(self.paint(self.ours(text), color), color=self.color)

    def write(self, lines: list[str]) -> None:
        """Lines that are ready."""
        if lines:
            click.echo("\n".join(lines), color=self.color)

    def note(self, text: str) -> None:
        """Something beside the output, on stderr: it disturbs no pipe."""
        click.echo(self.safe(text), err=True)


def write_json(data: Any) -> None:
    """Data as JSON in ASCII: nothing that a target said moves a terminal or commands a CI system.

    Dataclasses become objects, enums their values, and numbers that are not finite null.
    """
    text = json.dumps(_plain(data), indent=2, allow_nan=False)
    # `##vso[` and `##[` begin commands of Azure's pipelines, in JSON too.
    click.echo(text.replace("##", "\\u0023#"))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int)) else str(value)


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
