"""The line of progress of a command: on stderr, and on a terminal only."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable

from ..runs.progress import ProgressLine
from ..text import visible


def progress_line(words: Callable[[], str] = str) -> ProgressLine:
    """A context in which the command waits."""
    return ProgressLine(_Stderr(), words)


class _Stderr:
    delay = 0.5
    interval = 0.2

    def __init__(self) -> None:
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, words: str) -> bool:
        if self._live:
            room = shutil.get_terminal_size().columns - 1
            self._write(f"\r{visible(words)[:room]}\x1b[K")
        return self._live

    def clear(self) -> None:
        self._write("\r\x1b[K\r")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
