"""An MCP server that is a process: started, spoken to line by line, and ended for certain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...threads import CallThread, start_call, start_thread
from .errors import NotStarted

# The rest of our environment is full of keys, which are nothing to a stranger's program.
_INHERITED = (
    "PATH HOME LOGNAME USER SHELL TERM LANG LC_ALL LC_CTYPE TZ TMPDIR TMP TEMP VIRTUAL_ENV "
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROCESSOR_ARCHITECTURE SYSTEMDRIVE SYSTEMROOT "
    "USERNAME USERPROFILE"
).split()
_GUARD = Path(__file__).with_name("guard.py")
# The interpreter itself, and not a wrapper that a virtual environment or a test has put in its place: the
# guard has to be our child.
_PYTHON = getattr(sys, "_base_executable", None) or sys.executable
_LONGEST_LINE = 64 * 2**20
_LAST_WORDS = 8_000
_READ_AHEAD = 100
_CLOSING = 2.0
_ENDING = 3.0
_POLL = 0.01
_THREAD = "convoprobe-mcp"


@dataclass(frozen=True)
class Program:
    """What to run: a command with its arguments, in a folder, with variables beside the usual ones."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    cwd: Path

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {**inherited, **self.env}

    @property
    def words(self) -> list[str]:
        """The command line. Raises `NotStarted` for a command that isn't found."""
        environment, words = self.environment, [self.command, *self.args]
        if not self.args and self._found(self.command, environment) is None:
            words = _divided(self.command)
        found = self._found(words[0], environment)
        if found is None:
            raise NotStarted(f"there is no program `{words[0]}`")
        return [found, *words[1:]]

    def _found(self, command: str, environment: Mapping[str, str]) -> str | None:
        if os.path.dirname(command):
            path = self.cwd / command
            return str(path) if os.access(path, os.X_OK) and not path.is_dir() else None
        return shutil.which(command, path=environment.get("PATH"))


def _divided(line: str) -> list[str]:
    try:
        return shlex.split(line) or [line]
    except ValueError as error:
        raise NotStarted(f"`{line}` is not a command line: {error}") from None


class ServerProcess:
    """The process of one server, below a guard that ends it (see guard.py).

    Reading and writing block, so each stream has a thread. Only the loop that started it may use it.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_READ_AHEAD)
        self._writer = CallThread()
        self._lock = threading.Lock()
        self._popen: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._last_words = b""
        self._silent = threading.Event()

    async def start(self) -> None:
        """Raises `NotStarted`."""
        await start_call(self._spawn).future

    async def line(self) -> bytes | None:
        """The next line of its standard output; None once that is closed."""
        return await self._lines.get()

    async def write(self, data: bytes) -> None:
        """Raises `OSError` if the server doesn't read any more."""
        await self._writer.run(lambda: self._write(data))

    async def stop(self) -> None:
        """End it: by closing its input, then by a signal, then by force."""
        call = start_call(self._stop)
        # Whoever is cancelled meanwhile doesn't wait, but the process is ended all the same.
        await call.future

    async def status(self, seconds: float) -> int | None:
        """Its exit status, if it ends within so many seconds; minus the number of a signal."""
        return await start_call(lambda: self._status(seconds)).future

    @property
    def last_words(self) -> str:
        """The end of its standard error."""
        return self._last_words.decode("utf-8", "replace")

    def _spawn(self) -> None:
        words = self._program.words
        with self._lock:
            if self._stopped:
                return
            try:
                self._popen = popen = _guarded(words, self._program)
            except OSError as error:
                raise NotStarted(f"`{words[0]}` can't be started: {error.strerror or error}") from None
        start_thread(lambda: self._read(popen), _THREAD)
        start_thread(lambda: self._listen(popen), _THREAD)

    def _read(self, popen: subprocess.Popen[bytes]) -> None:
        assert popen.stdout is not None  # noqa: S101 - it was opened with a pipe
        # Closed loops and streams: nobody reads any more.
        with contextlib.suppress(RuntimeError, OSError, ValueError, asyncio.CancelledError):
            while (line := popen.stdout.readline(_LONGEST_LINE)).endswith(b"\n"):
                self._hand_on(line)
        with contextlib.suppress(RuntimeError, asyncio.CancelledError):
            self._hand_on(None)
        popen.stdout.close()

    def _hand_on(self, line: bytes | None) -> None:
        # It waits for room: a server that floods us waits, and our memory doesn't fill.
        put = self._lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(put, self._loop).result()
        except RuntimeError:
            put.close()
            raise

    def _listen(self, popen: subprocess.Popen[bytes]) -> None:
        assert popen.stderr is not None  # noqa: S101 - as above
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(popen.stderr.fileno(), 65_536):
                self._last_words = (self._last_words + chunk)[-_LAST_WORDS:]
        popen.stderr.close()
        self._silent.set()

    def _write(self, data: bytes) -> None:
        stdin = self._popen and self._popen.stdin
        if not stdin:
            raise BrokenPipeError("the process has no input")
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(stdin.fileno(), rest) :]
        except ValueError as error:
            raise BrokenPipeError("its input is closed") from error

    def _status(self, seconds: float) -> int | None:
        if self._popen is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._popen.wait(seconds)
            self._silent.wait(seconds)  # what it said last is still on its way
            return 128 - status if status > 128 else status
        return None

    def _stop(self) -> None:
        with self._lock:
            self._stopped, popen = True, self._popen
        self._writer.stop()
        if popen is None:
            return
        if not self._writer.busy and popen.stdin is not None:
            with contextlib.suppress(OSError):
                popen.stdin.close()
            _ended(popen, _CLOSING)
        if not _ended(popen, 0):
            popen.terminate()
            if not _ended(popen, _ENDING):
                _kill(popen)
        self._close_input(popen)
        # Not its output: closing would wait for the thread that reads there, which closes it itself.

    def _close_input(self, popen: subprocess.Popen[bytes]) -> None:
        """Where a write was under way, the input is still open. That write fails once the process is gone."""
        until = time.monotonic() + _CLOSING
        while self._writer.busy and time.monotonic() < until:
            time.sleep(_POLL)
        if not self._writer.busy and popen.stdin is not None:
            with contextlib.suppress(OSError):
                popen.stdin.close()


def _ended(popen: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        popen.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(popen: subprocess.Popen[bytes]) -> None:
    """The guard itself hangs: kill it with its whole group."""
    if sys.platform == "win32":
        popen.kill()
    else:
        with contextlib.suppress(OSError):
            os.killpg(popen.pid, signal.SIGKILL)
    _ended(popen, _ENDING)


def below_guard(words: Sequence[str]) -> list[str]:
    """The command line that runs another one, and ends it and all that it started if this process is gone."""
    # Windows has no groups and no orphans to look for; there, closing the input has to do.
    guard = [] if sys.platform == "win32" else [_PYTHON, "-I", "-S", str(_GUARD), str(os.getpid())]
    return [*guard, *words]


def _guarded(words: list[str], program: Program) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - it is the user's own command
        below_guard(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program.cwd,
        env=program.environment,
        # Ctrl-C in a terminal is for us: we end the servers in order.
        start_new_session=sys.platform != "win32",
    )
