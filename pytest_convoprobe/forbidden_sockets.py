"""Suites that forbid sockets, with pytest-socket or with a guard of their own instead of `socket.socket`."""

from __future__ import annotations

import re
import socket

ALLOW_HOSTS = (
    "the suite forbids sockets: allow the host with pytest-socket's `--allow-hosts`, or all of them for a "
    "scenario with the mark `enable_socket`"
)
"""What helps where a server is called."""

# pytest-socket's errors. If warnings are errors, it raises its warning instead, which has the same words.
_WORDS = re.compile(r"Socket(Connect)?BlockedError|A test tried to use socket\.(socket|getaddrinfo|gethost)")

# Whose class of sockets works: Python's, or that of a library which replaces it for the whole process.
_WORKING = ("socket", "gevent", "eventlet", "socks")


def forbids_sockets(error: str) -> bool:
    """Whether an error is pytest-socket's, by its name or its text."""
    return bool(_WORDS.search(error))


def are_guarded() -> bool:
    """Whether something has taken the place of `socket.socket`, and perhaps refuses to make one."""
    made = socket.socket
    return not (isinstance(made, type) and made.__module__.partition(".")[0] in _WORKING)
