"""The process that `warm_python.py` has forked: `python -m tests.support.warm_template SOCKET`.

SOCKET is the file descriptor of a socket that listens. Each connection is a process to be forked; its number
and later its exit code are the answer. This process ends, with all that it has forked, when its stdin ends.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import importlib
import importlib.metadata
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from typing import Any, NoReturn

from _pytest.config import default_plugins

import pytest_convoprobe
from pytest_convoprobe.llm.litellm_adapter import LiteLLM

MODULES = "pytest xdist.plugin xdist.remote hypothesis numpy trio".split()
"""What most of the forked processes import too; pytest's plug-ins import the last three when it starts."""

_SLICE = 0.01  # seconds between two looks for processes that have ended


class Template:
    def __init__(self, server: socket.socket, executable: str) -> None:
        self._server = server
        self._executable = executable
        self._connections: dict[int, socket.socket] = {}
        """By process."""

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests get it, and end this process
        while True:
            sockets = [0, self._server, *self._connections.values()]
            ready, _, _ = select.select(sockets, [], [], _SLICE if self._connections else None)
            if 0 in ready:
                return self._kill([*self._connections])
            if self._server in ready:
                self._fork()
            self._kill([one for one, connection in self._connections.items() if connection in ready])
            self._report()

    def _fork(self) -> None:
        connection, _ = self._server.accept()
        size, streams, *_ = socket.recv_fds(connection, 8, 3)
        request = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        process = os.fork()
        if process == 0:
            for one in (self._server, connection, *self._connections.values()):
                one.close()
            _become(streams, self._executable, *marshal.loads(request))
        for stream in streams:
            os.close(stream)
        self._connections[process] = connection
        _send(connection, process)

    def _kill(self, processes: list[int]) -> None:
        """Those whose connection has ended."""
        for process in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process, signal.SIGKILL)

    def _report(self) -> None:
        for process in [*self._connections]:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                with self._connections.pop(process) as connection:
                    _send(connection, os.waitstatus_to_exitcode(status))


def _send(connection: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(number.to_bytes(8, "big", signed=True))


def _import_modules() -> None:
    adapter = LiteLLM()
    adapter.preload()
    asyncio.run(adapter.loaded())
    for name in [*MODULES, *_plugins(), *_our_modules()]:
        importlib.import_module(name)
    _keep_as_imported()
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
    # Threads would not be there in a forked process, but what they have locked would still be locked.
    assert threading.active_count() == 1, threading.enumerate()
    # The collector would write into every object that it looks at, also when a forked process ends, and so
    # copy all of the shared memory. It leaves out what is frozen.
    gc.freeze()


def _plugins() -> list[str]:
    """Pytest's own plug-ins and the installed ones: each run of pytest imports all of them."""
    installed = importlib.metadata.entry_points(group="pytest11")
    return [*(f"_pytest.{name}" for name in default_plugins), *(one.module for one in installed)]


def _our_modules() -> Iterator[str]:
    """All of this package."""
    for module in pkgutil.walk_packages(pytest_convoprobe.__path__, "pytest_convoprobe."):
        # Adapters need frameworks that are not installed here, and are imported with them only.
        if not module.name.endswith("__main__") and ".targets.adapters." not in module.name:
            yield module.name


def _keep_as_imported() -> None:
    """Else pytest warns that it can't rewrite the assertions of plug-ins that were imported before it ran."""
    named = {*MODULES, *_plugins()}  # by entry points and by `-p`
    for name, module in [*sys.modules.items()]:
        if "." not in name or name in named:
            module.__doc__ = f"{module.__doc__ or ''}\nPYTEST_DONT_REWRITE"


def _become(
    streams: list[int], executable: str, words: tuple[str, ...], cwd: str, env: dict[str, str]
) -> NoReturn:
    """Make this forked process what `python WORDS` would have started, and run it."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    _redirect(streams)
    tempfile.tempdir = None  # it depends on the environment
    # The processes that it starts, as workers of xdist, are forked as well.
    sys.executable = executable
    # The project that is run may have a package of this name.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    kind, program, *arguments = words[words[0] == "-u" :]
    sys.path[:1] = [cwd if kind == "-m" else "", *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    try:
        _run(kind, program, arguments)
    except SystemExit as ended:
        _end(_exit_code(ended))
    _end(0)


def _exit_code(ended: SystemExit) -> int:
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    sys.stderr.write(f"{ended.code}\n")
    return 1


def _end(code: int) -> NoReturn:
    """End as the interpreter does, but for taking all that was imported to pieces, which is most of the cost.

    `multiprocessing` ends the processes that it forks in the same way.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # whoever read it is gone
        code = 120
    os._exit(code & 0xFF)


def _run(kind: str, program: str, arguments: list[str]) -> None:
    if kind == "-m":
        sys.argv = [program, *arguments]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *arguments]
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), main.__dict__)


def _redirect(streams: list[int]) -> None:
    sys.stdin, sys.stdout, sys.stderr = map(_standard, range(3), streams)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def _standard(number: int, stream: int) -> Any:
    os.dup2(stream, number)
    os.close(stream)
    # As Python does it, which writes its errors line by line.
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    error_stream = number == 2
    return open(
        number,
        "w" if number else "r",
        1 if error_stream else -1,
        encoding=encoding or "utf-8",
        errors="backslashreplace" if error_stream else errors or "strict",
        closefd=False,
    )


if __name__ == "__main__":
    _import_modules()
    Template(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).serve()
