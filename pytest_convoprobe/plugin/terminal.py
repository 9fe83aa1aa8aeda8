"""pytest's terminal: what it can show, and the line of progress on it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import TextIO

import pytest

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"
_NARROWEST = 24


class PytestTerminal:
    """Where the line of progress is drawn while pytest waits.

    The text is shown behind what pytest has written on the current line. The cursor is put back
    each time and the text cleared at the end, so that pytest's own output looks as if nothing had been there.
    """

    delay = 3.0
    interval = 0.5

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def show(self, words: str) -> bool:
        room = self._room()
        if room < _NARROWEST:
            return False
        text = f"  [{words}]"[:room]
        return self._write(f"{_SAVE}{text}{_CLEAR}{_RESTORE}")

    def clear(self) -> None:
        self._write(_CLEAR)

    def _room(self) -> int:
        """Columns that are free on the current line; 0 where a line of progress has no place."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self._config.get_verbosity() < 0:
            return 0
        terminal = self._config.get_terminal_writer()
        # A terminal without colours may move its cursor well; Windows' old one can do neither.
        if os.environ.get("TERM") == "dumb" or (os.name == "nt" and not terminal.hasmarkup):
            return 0
        return shutil.get_terminal_size().columns - terminal.width_of_current_line - 1

    def _write(self, text: str) -> bool:
        """Write past pytest's capturing. Returns whether there was a terminal to write on."""
        # Only a fixture (`capsys.disabled`) has a public way past capturing, and nobody's fixture waits here.
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            stream: TextIO = sys.stdout
            if not stream.isatty():
                return False
            stream.write(text)
            stream.flush()
        return True


def encoding() -> str:
    """The terminal's. Inside an xdist worker stdout is not the terminal, but has its encoding."""
    return getattr(sys.__stdout__, "encoding", None) or "utf-8"


def writes_unicode() -> bool:
    """Whether the terminal can show the marks of a verdict."""
    try:
        "✓✗…".encode(encoding())
    except (UnicodeEncodeError, LookupError):
        return False
    return True
