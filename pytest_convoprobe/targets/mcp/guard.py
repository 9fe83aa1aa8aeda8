"""A program that runs another one, and ends it with all that it has started once its own parent is gone.

It is run as a file, `python guard.py PARENT COMMAND…`, and imports nothing of this package. An MCP server may
ignore that its input was closed, and a parent that was killed can't end it. So this process looks whether the
parent still lives. On Linux it also inherits processes that the server has left behind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

_LOOK = 0.1
_GRACE = 1.0
_NOT_STARTED = 127
_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36


class _Stop:
    asked = False

    def __call__(self, number: int, frame: object) -> None:
        self.asked = True


def main(parent: int, command: list[str]) -> int:
    """Run the command to its end, or until the parent is gone. Returns its exit status."""
    stop = _Stop()
    # A handler and not SIG_IGN, which the command would inherit.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    _control(_SET_CHILD_SUBREAPER, 1)
    try:
        child = subprocess.Popen(command, preexec_fn=_dies_with_guard)  # noqa: S603 - it is the user's own
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return _NOT_STARTED
    # The server's alone: else nobody would see that it has closed them.
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    while child.poll() is None and os.getppid() == parent and not stop.asked:
        time.sleep(_LOOK)
    if child.poll() is None:
        _ask_to_end(child)
    _kill_rest()
    status = child.wait()
    return status if status >= 0 else 128 - status


def _ask_to_end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(os.getpgid(0), signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE)


def _kill_rest() -> None:
    """Kill all descendants. Again and again: whoever loses its parent becomes a child of this one."""
    for _ in range(50):
        living = _children()
        if not living:
            return
        for pid in living:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _children() -> list[int]:
    """The processes whose parent is this one; none where the system doesn't list them."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            with (
                contextlib.suppress(OSError, IndexError, ValueError),
                open(f"/proc/{name}/stat", "rb") as file,
            ):
                # The name of the program is in brackets and may contain anything.
                state, ppid = file.read().rpartition(b")")[2].split()[:2]
                if int(ppid) == os.getpid() and state != b"Z":
                    found.append(int(name))
    return found


def _dies_with_guard() -> None:
    _control(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _control(option: int, value: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
