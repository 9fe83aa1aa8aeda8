"""Runs commands in processes of their own: what they print can't get into the server's own protocol."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...formatting import exact_seconds
from ...targets.mcp.process import below_guard

_SECONDS = 120.0
_ENDS_IN = 5.0
_TROUBLE = 2
"""From this exit status on, the output is no answer."""
_LARGEST = 50_000_000
"""Bytes of an output that are read."""


@dataclass(frozen=True)
class Finished:
    """A command that has ended: its exit status, its output, and what it complained about."""

    status: int
    output: str
    complaint: str


class RunningCommand:
    """A command that runs, below a guard: it ends with this process, with all that it has started."""

    def __init__(self, process: asyncio.subprocess.Process, output: BinaryIO, complaint: BinaryIO) -> None:
        self._process = process
        # Files and not pipes: a program that the command left behind would keep a pipe open for ever.
        self._files = output, complaint
        self._ended = asyncio.ensure_future(process.wait())
        self._found: Finished | None = None

    @classmethod
    async def start(cls, words: Sequence[str], root: Path) -> RunningCommand:
        """Start it in the folder `root`, without standard input."""
        files = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - read when it has ended
        process = await asyncio.create_subprocess_exec(
            *below_guard([sys.executable, *words]),
            cwd=root,
            env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=files[0],
            stderr=files[1],
            # Of its own, so that the guard can end whatever it starts.
            start_new_session=True,
        )
        return cls(process, *files)

    async def finished(self, seconds: float) -> Finished | None:
        """Its end; None if it still runs after so many seconds."""
        try:
            status = await asyncio.wait_for(asyncio.shield(self._ended), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            return None
        if self._found is None:
            self._found = Finished(status, *map(_text, self._files))
        return self._found

    async def stop(self) -> None:
        """End it as Ctrl-C would; after a second, the guard kills what is left of it."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            await self.finished(_ENDS_IN)


def _text(file: BinaryIO) -> str:
    with file:
        file.seek(0)
        return file.read(_LARGEST).decode("utf-8", "replace")


async def output_of(words: Sequence[str], root: Path) -> str:
    """What `convoprobe` prints for these words. Raises `ValueError` with what it complains about."""
    running = await RunningCommand.start(("-m", "pytest_convoprobe.cli", *words), root)
    try:
        found = await running.finished(_SECONDS)
    finally:
        # Shielded: whoever doesn't want the answer any more must not leave a process.
        await asyncio.shield(running.stop())
    if found is None:
        raise ValueError(f"`convoprobe {words[0]}` did not end within {exact_seconds(_SECONDS)}")
    if found.status >= _TROUBLE or not found.output.strip():
        raise ValueError(found.complaint.strip() or f"`convoprobe {words[0]}` ended with {found.status}")
    return found.output
