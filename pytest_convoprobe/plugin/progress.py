"""One line that says how far the conversations are, while pytest waits for the next of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

import pytest

#: Nothing is shown before so many seconds.
DELAY_SECONDS = 3.0
INTERVAL_SECONDS = 0.5

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"


class Progress:
    """A context in which somebody waits; `tick` may be called as often as one likes.

    The text stands behind what pytest has written on the current line. The cursor is put back
    each time and the text cleared at the end, so that pytest's own output looks as if nothing had been there.
    """

    def __init__(
        self, config: pytest.Config, words: Callable[[], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._words = words
        self._clock = clock
        self._next = clock() + DELAY_SECONDS
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write(_CLEAR)

    def tick(self) -> None:
        """Show or renew the line, if it's time to."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + INTERVAL_SECONDS
        room = self._room()
        if room >= 24:
            text = f"  [{self._words()}]"[:room]
            self._shown = self._write(f"{_SAVE}{text}{_CLEAR}{_RESTORE}")

    def _room(self) -> int:
        """Columns that are free on the current line; 0 where a line of progress has no place."""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or self._config.get_verbosity() < 0:
            return 0
        terminal = self._config.get_terminal_writer()
        # A terminal without colours may move its cursor well; Windows' old one can do neither.
        if os.environ.get("TERM") == "dumb" or (os.name == "nt" and not terminal.hasmarkup):
            return 0
        return shutil.get_terminal_size().columns - terminal.width_of_current_line - 1

    def _write(self, text: str) -> bool:
        """Write past pytest's capturing. Says whether there was a terminal to write on."""
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            stream: TextIO = sys.stdout
            if not stream.isatty():
                return False
            stream.write(text)
            stream.flush()
        return True
