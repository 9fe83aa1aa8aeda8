"""A line on stderr that says how far long work is; on a terminal only."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType

from ..text import visible

_DELAY_SECONDS = 0.5
_INTERVAL_SECONDS = 0.2


class Progress:
    """A context in which somebody waits; `tick` may be called as often as one likes."""

    def __init__(self, words: Callable[[], str] = str) -> None:
        self._words = words
        self._next = time.monotonic() + _DELAY_SECONDS
        self._shown = False
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._write("")

    def tick(self, words: str | None = None) -> None:
        """Show or renew the line, if it's time to."""
        if not self._live or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _INTERVAL_SECONDS
        room = shutil.get_terminal_size().columns - 1
        self._write(visible(self._words() if words is None else words)[:room])
        self._shown = True

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K" + ("" if text else "\r"))
        sys.stderr.flush()
