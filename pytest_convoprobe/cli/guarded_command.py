"""A command of the user's, which never outlives this one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Mapping, Sequence

from ..targets.mcp.process import below_guard

_POLL = 0.2
_ENDING = 5.0


def run_guarded(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command on this terminal until it ends; its exit status, as shells have it.

    If this process is interrupted, or killed, the command is ended with all that it has started.
    """
    popen = subprocess.Popen(  # noqa: S603 - it is the user's own command
        below_guard(words),
        env=dict(environment),
        # Ctrl-C in a terminal is for us: we end the command in order.
        start_new_session=sys.platform != "win32",
    )
    try:
        while popen.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                popen.wait(_POLL)
    finally:
        _end(popen)
    return popen.returncode if popen.returncode >= 0 else 128 - popen.returncode


def _end(popen: subprocess.Popen[bytes]) -> None:
    if popen.poll() is None:
        popen.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(_ENDING)
    if popen.poll() is None:
        popen.kill()
        popen.wait()
