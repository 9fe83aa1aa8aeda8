"""Files: opened only if they are files; written so that others see the old content or the new one, never a
mixture; named for people.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from .formatting import exact_seconds, size

_TEMP_SUFFIX = ".convoprobe-tmp"
_POLL = 0.01
_BLOCK = 1 << 16
_PIECE = 1 << 20


def shown_path(path: str | Path) -> str:
    """A path for messages: relative to the working directory where it lies below it, as in pytest."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere, or a working directory that is gone
        return str(path)


def cannot(path: str | Path, deed: str, error: OSError) -> str:
    """`results.json cannot be read: Permission denied`; `deed` is `read` or `written`."""
    return f"{shown_path(path)} cannot be {deed}: {error.strerror or error}"


MOST_BYTES = 512 * 1024 * 1024
"""The largest file that is read into memory."""

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def oddity(path: str | Path) -> str:
    """What is in the place of a file, in words: `it is a named pipe, not a file`; else empty.

    To open such a thing may wait for ever, and to read it may never end. Raises `OSError`.
    """
    return _oddity(os.stat(path).st_mode)


def _oddity(mode: int) -> str:
    kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "")
    return f"it is {kind}, not a file" if kind else ""


def open_file(path: str | Path) -> BinaryIO:
    """A file, opened for reading. Raises `OSError` for all else, a folder, a pipe or a device too."""
    if odd := oddity(path):
        raise OSError(errno.EINVAL, odd, str(path))
    # Somebody may have put a pipe there meanwhile: opened in this way, none waits.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if odd := _oddity(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, odd, str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        with contextlib.suppress(OSError):  # `fdopen` has closed a folder's
            os.close(handle)
        raise


def read_file(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """All of a file. Raises `OSError` for what isn't one, and for one of more than `most` bytes."""
    with open_file(path) as file:
        content = b"".join(_pieces(file, most + 1))
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {size(most)}", str(path))
    return content


def _pieces(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Up to so many bytes. Not in one piece: Python takes the memory for all of them before it reads."""
    while most > 0 and (piece := file.read(min(most, _PIECE))):
        most -= len(piece)
        yield piece


def read_text(path: str | Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """All of a file as text, with plain line breaks. Raises `OSError` and `UnicodeDecodeError`."""
    text = read_file(path).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def relative_name(path: str | Path, folder: Path) -> str:
    """A path as seen from a folder, with `/`: it means the same elsewhere, and names nobody's home folder."""
    if not path:
        return ""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive, on Windows
        return Path(path).as_posix()


@contextlib.contextmanager
def locked(folder: Path, timeout: float = 30.0) -> Iterator[None]:
    """Keep every other process (and thread) that asks for the same out of the folder meanwhile.

    The system lets go of the lock when the process dies, however it dies, and nothing stays
    behind in the folder. Raises TimeoutError if somebody else has it longer than `timeout`
    seconds. A file system that knows no locks is used without.
    """
    deadline = time.monotonic() + timeout
    while (handle := _try_lock(folder)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"another process has kept {folder} locked for {exact_seconds(timeout)}")
        time.sleep(_POLL)
    try:
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":

    def _try_lock(folder: Path) -> int | None:
        """A file that only one can create, and that Windows removes when its handle closes."""
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_TEMPORARY
            return os.open(folder / ".convoprobe-lock", flags)
        except (FileExistsError, PermissionError):
            return None

else:
    import fcntl

    def _try_lock(folder: Path) -> int | None:
        """A lock on the folder itself; it needs no file."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            # Some network file systems refuse; a write is atomic all the same.
            return handle
        return handle


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace a file in one step. To be called within `locked(path.parent)`.

    Content that comes in pieces is written piece by piece. What a killed writer left behind is removed
    on the way: nobody else writes here now.
    """
    # The replacement would take the place of /dev/null for the whole system.
    if path.exists() and (odd := oddity(path)):
        raise OSError(errno.EINVAL, odd, str(path))
    for leftover in path.parent.glob(f".*{_TEMP_SUFFIX}"):
        leftover.unlink(missing_ok=True)
    # In the same folder: a file is replaced in one step only within one file system.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=_TEMP_SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines((content,) if isinstance(content, bytes) else content)
            file.flush()
            # Before the replacement: after a power cut, some file systems have the new name with an empty
            # file.
            os.fsync(file.fileno())
        _give_usual_rights(Path(name), path)
        _replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _give_usual_rights(temp: Path, path: Path) -> None:
    """A temporary file is for its owner only; the result should look like any other file."""
    if path.exists():
        temp.chmod(path.stat().st_mode & 0o777)
    elif sys.platform != "win32":
        # From the folder, not the umask: that can only be read by changing it, for all threads.
        temp.chmod(path.parent.stat().st_mode & 0o666)


def _replace(source: str, target: Path) -> None:
    """Windows refuses for as long as somebody is just reading the old file."""
    for _ in range(50 if sys.platform == "win32" else 0):
        try:
            return os.replace(source, target)
        except PermissionError:
            time.sleep(_POLL)
    os.replace(source, target)


class Lines:
    """A file that only grows, by a whole line at a time, from one process.

    The beginning of a line that a killed writer left at the end is taken away before the first new one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._size = 0

    def append(self, line: bytes) -> tuple[int, int]:
        """Write one line, given with its line break, to the disk; its offset and its length."""
        handle = self._open()
        try:
            self._write(handle, line)
        except OSError:
            self._take_back(handle)
            raise
        offset, self._size = self._size, self._size + len(line)
        return offset, len(line)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _open(self) -> int:
        if self._handle is None:
            # O_BINARY: Windows would write two characters for a line break, and offsets would be wrong.
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._handle = os.open(self._path, flags, 0o666)
            self._size = os.fstat(self._handle).st_size
            self._cut_torn_line(self._handle)
        return self._handle

    def _cut_torn_line(self, handle: int) -> None:
        end = self._size
        while end:
            start = max(0, end - _BLOCK)
            os.lseek(handle, start, os.SEEK_SET)
            if (found := os.read(handle, end - start).rfind(b"\n")) >= 0:
                end = start + found + 1
                break
            end = start
        if end < self._size:
            os.ftruncate(handle, end)
            self._size = end

    @staticmethod
    def _write(handle: int, line: bytes) -> None:
        """A system that is short of space may write a part without an error first."""
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(handle, rest) :]

    def _take_back(self, handle: int) -> None:
        """Remove what was written of a line, or at least end it, so that the next one is apart."""
        try:
            os.ftruncate(handle, self._size)
        except OSError:
            with contextlib.suppress(OSError):
                os.write(handle, b"\n")
            self._size = os.fstat(handle).st_size
