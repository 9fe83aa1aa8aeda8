"""Run a command as a child and read what the operating system says of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    """Wall and CPU time in seconds, peak memory in MB, and what the command printed."""

    wall: float
    cpu: float
    peak_mb: float
    code: int
    output: str


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> Measured:
    """Run `command` with this interpreter's `-m` or as it is, and wait for it."""
    log = cwd / "output.txt"
    with log.open("wb") as out:
        started = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=out, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    return Measured(
        wall,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        child.returncode,
        log.read_text("utf-8"),
    )


def pytest_command(*arguments: str) -> list[str]:
    """The whole `pytest` command, with the plug-ins that only get in the way of a measurement turned off."""
    others = (
        "randomly",
        "rerunfailures",
        "sugar",
        "html",
        "metadata",
        "cov",
        "timeout",
        "repeat",
        "asyncio",
        "anyio",
    )
    off = [flag for name in others for flag in ("-p", f"no:{name}")]
    return [sys.executable, "-m", "pytest", *off, "-p", "no:cacheprovider", *arguments]
