"""What a run that makes no progress waits for, in a file of its own: `bench status` shows it.

A row that is still being tried has no line in any journal. If the run is killed meanwhile, this file is all
that says why it had not come further.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

from ..format.folder import BenchmarkFolder

_FILE = "waiting.json"


@dataclass(frozen=True)
class WaitingNote:
    """That `stage` waits, in `words`; noted `at`, in seconds since 1970."""

    stage: str
    words: str
    at: float


def note_waiting(folder: BenchmarkFolder, stage: str, words: str) -> None:
    """Write the note; without words, remove it. A folder that cannot be written has none."""
    with contextlib.suppress(OSError):
        if words:
            # In place: readers take half a file for none, and the next note comes soon.
            _file(folder).write_text(json.dumps({"stage": stage, "words": words, "at": time.time()}))
        else:
            _file(folder).unlink(missing_ok=True)


def read_waiting(folder: BenchmarkFolder) -> WaitingNote | None:
    """The note, if there is one that can be read."""
    try:
        found = json.loads(_file(folder).read_bytes())
        return WaitingNote(str(found["stage"]), str(found["words"]), float(found["at"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _file(folder: BenchmarkFolder) -> Path:
    return folder.rows / _FILE
