"""A stand-in for `sys.executable`: `python warm_python.py SOCKET WORDS…` is `python WORDS…`, but forked.

It hands its standard streams to the template at the other end of the socket (`warm_template.py`), passes
signals on to the process that is forked there, and ends as that process ends. If it is killed, the template
kills that process.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
import sys
from typing import NoReturn


def main(address: str, *words: str) -> NoReturn:
    if words[words[0] == "-u"] not in ("-m", "-c"):
        os.execv(sys.executable, [sys.executable, *words])  # only a new interpreter can have other options
    connection = socket.socket(socket.AF_UNIX)
    fork(connection, address, words, os.getcwd(), dict(os.environ), [0, 1, 2])
    process = number_from(connection)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: os.kill(process, number))
    _end_as(number_from(connection))


def fork(
    connection: socket.socket,
    address: str,
    words: tuple[str, ...],
    cwd: str,
    env: dict[str, str],
    streams: list[int],
) -> None:
    """Have the template run `python WORDS` with this folder, environment, and three standard streams.

    The connection then gives two numbers: of the process, and its exit code.
    """
    connection.connect(address)
    request = marshal.dumps((words, cwd, env))
    socket.send_fds(connection, [len(request).to_bytes(8, "big")], streams)
    connection.sendall(request)


def number_from(connection: socket.socket) -> int:
    received = connection.recv(8, socket.MSG_WAITALL)
    if len(received) < 8:
        sys.exit("the template of the warm processes has ended")
    return int.from_bytes(received, "big", signed=True)


def _end_as(code: int) -> NoReturn:
    """Exit with this code; a negative one is that of the signal which ended the other process."""
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
