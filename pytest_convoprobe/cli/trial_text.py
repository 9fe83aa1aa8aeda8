"""A trial as text, for a terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from .console import Console

if TYPE_CHECKING:
    from ..results.store import TrialRecord

_PIPED_WIDTH = 100


def conversation_text(console: Console, record: TrialRecord, verbose: bool = False) -> str:
    """The report on a trial with every turn, as wide as the terminal."""
    from ..reports.failure import render_failure
    from ..reports.paste_command import stored_words

    return render_failure(
        record.result,
        verbosity=2 if verbose else 1,
        width=console.width or _PIPED_WIDTH,
        rerun_command=shlex.join(stored_words(record.result, console.encoding)),
        ascii_only=not console.unicode,
        color=console.color,
    )
