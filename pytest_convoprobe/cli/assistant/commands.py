"""Runs commands in processes of their own: what they print can't get into the server's own protocol."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 120.0
_ENDS_IN = 5.0
_TROUBLE = 2
"""From this exit status on, the output is no answer."""


@dataclass(frozen=True)
class Finished:
    """A command that has ended: its exit status, its output, and what it complained about."""

    status: int
    output: str
    complaint: str


class RunningCommand:
    """A command that runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._output = asyncio.ensure_future(process.communicate())

    @classmethod
    async def start(cls, words: Sequence[str], root: Path) -> RunningCommand:
        """Start it in the folder `root`, without standard input."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            cwd=root,
            env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Of its own, so that whatever it starts can be ended with it.
            start_new_session=True,
        )
        return cls(process)

    async def finished(self, seconds: float) -> Finished | None:
        """Its end; None if it still runs after so many seconds."""
        try:
            out, complaint = await asyncio.wait_for(asyncio.shield(self._output), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            return None
        status = self._process.returncode or 0
        return Finished(status, out.decode("utf-8", "replace"), complaint.decode("utf-8", "replace"))

    async def stop(self) -> None:
        """End it as Ctrl-C would; what has not ended then is killed, with all that it started."""
        for number in (signal.SIGINT, signal.SIGKILL):
            if self._process.returncode is None:
                self._signal(number)
                await self.finished(_ENDS_IN)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


async def output_of(words: Sequence[str], root: Path) -> str:
    """What `convoprobe` prints for these words. Raises `ValueError` with what it complains about."""
    running = await RunningCommand.start(("-m", "pytest_convoprobe.cli", *words), root)
    try:
        found = await running.finished(_SECONDS)
    finally:
        await running.stop()
    if found is None:
        raise ValueError(f"`convoprobe {words[0]}` did not end within {_SECONDS:.0f} s")
    if found.status >= _TROUBLE or not found.output.strip():
        raise ValueError(found.complaint.strip() or f"`convoprobe {words[0]}` ended with {found.status}")
    return found.output
