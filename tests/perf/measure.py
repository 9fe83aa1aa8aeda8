"""Run a command as a child and read what the operating system says of it."""

from __future__ import annotations

import os
import re
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
            command, cwd=cwd, env=_environment(env or {}), stdout=out, stderr=subprocess.STDOUT
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


def instructions(command: Sequence[str], *, cwd: Path) -> int:
    """How many instructions of the processor the command takes, counted by valgrind."""
    counted = run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", *command],
        cwd=cwd,
        env={"PYTHONHASHSEED": "0"},
    )
    total = re.search(r"Collected : (\d+)", counted.output)
    if counted.code != 0 or total is None:
        raise SystemExit(f"the measured run failed:\n{counted.output[-3000:]}")
    return int(total[1])


def pytest_command(*arguments: str, plugin: bool = True) -> list[str]:
    """The whole `pytest` command with no other plug-in than ours, or with none at all."""
    ours = ["-p", "convoprobe"] if plugin else []
    return [sys.executable, "-m", "pytest", *ours, "-p", "no:cacheprovider", *arguments]


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Of the plug-ins that are installed none is loaded by itself; bytecode is kept, as everywhere."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}
