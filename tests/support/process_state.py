"""What belongs to the whole process, put back after each test.

Tests run pytest and the command line in this process, and a host's debugger, plug-ins and conftest files with
them. What one of them leaves behind would decide what a later test shows, in some orders only.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGURG") if hasattr(signal, name)
]
_HOOKS = ("stdin", "excepthook", "unraisablehook", "displayhook", "breakpointhook")


@contextmanager
def put_back() -> Iterator[None]:
    """After it, signal handlers, environment, folder and the interpreter's hooks are as they were."""
    handlers = [(number, signal.getsignal(number)) for number in _SIGNALS]
    environment, folder = dict(os.environ), os.getcwd()
    hooks = [(name, getattr(sys, name)) for name in _HOOKS]
    trace, logged = sys.gettrace(), logging.root.manager.disable
    try:
        yield
    finally:
        for number, handler in handlers:
            # pdb, for one, leaves its own for Ctrl-C once a session of it has gone on.
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        _restore_environment(environment)
        os.chdir(folder)
        for name, hook in hooks:
            setattr(sys, name, hook)
        if sys.gettrace() is not trace:
            sys.settrace(trace)
        logging.disable(logged)


def _restore_environment(before: dict[str, str]) -> None:
    now = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    for name in now.keys() - before.keys():
        del os.environ[name]
    for name, value in before.items():
        if name != "PYTEST_CURRENT_TEST" and now.get(name) != value:
            os.environ[name] = value
