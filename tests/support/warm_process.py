"""Processes that call models or run pytest, without the seconds of CPU that each takes for its imports.

`warm_process.run("pytest", "-v", cwd=...)` is `python -m pytest -v` in a process of its own, with its own
folder, environment and output, and so are the processes that it starts by `sys.executable`, as xdist does.
They are forked from a process that has imported LiteLLM as the plug-in does, pytest and this package
(`warm_template.py`). So they show what such a process prints, writes and returns. They cannot show whether
and when something is imported, nor what the interpreter's own options do: start a real process for that.
"""

from __future__ import annotations

import atexit
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO

from . import warm_python

ROOT = Path(__file__).parents[2]
TIMEOUT = 120


def run(
    module: str, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ARGUMENTS` to its end; `env` is its whole environment."""
    environment = dict(os.environ if env is None else env)
    if not hasattr(os, "fork"):
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT,
            check=False,
        )
    return _forked(("-m", module, *arguments), str(cwd), environment)


def _forked(words: tuple[str, ...], cwd: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Without the launcher: starting that interpreter would cost as much as some of the runs."""
    with (
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        connection.settimeout(TIMEOUT)
        address = Path(executable()).with_name("socket")
        streams = [nothing.fileno(), out.fileno(), err.fileno()]
        warm_python.fork(connection, str(address), words, cwd, env, streams)
        warm_python.number_from(connection)
        code = warm_python.number_from(connection)
        return subprocess.CompletedProcess(words, code, _text(out), _text(err))


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


@cache
def executable() -> str:
    """What is started in place of `sys.executable`; where there is no `fork`, it is that.

    The template is started by the first test that asks, for all tests of this process.
    """
    if not hasattr(os, "fork"):
        return sys.executable
    folder = tempfile.TemporaryDirectory(prefix="warm")
    address, launcher = Path(folder.name, "socket"), Path(folder.name, "python")
    command = [sys.executable, "-IS", warm_python.__file__, str(address)]
    launcher.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    launcher.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_template", str(server.fileno()), str(launcher)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            pass_fds=[server.fileno()],
        )
    atexit.register(folder.cleanup)
    atexit.register(process.communicate)
    return str(launcher)
