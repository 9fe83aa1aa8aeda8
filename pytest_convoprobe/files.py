"""Files: written so that others see the old content or the new one, never a mixture; named for people."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_TEMP_SUFFIX = ".convoprobe-tmp"
_POLL = 0.01


def shown_path(path: str | Path) -> str:
    """A path for messages: relative to the working directory where it lies below it, as in pytest."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere, or a working directory that is gone
        return str(path)


@contextlib.contextmanager
def locked(folder: Path, timeout: float = 30.0) -> Iterator[None]:
    """Keep every other process (and thread) that asks for the same out of the folder meanwhile.

    The system lets go of the lock when the process dies, however it dies, and nothing stays
    behind in the folder. Raises TimeoutError if somebody else holds it longer than `timeout`
    seconds. A file system that knows no locks is used without.
    """
    deadline = time.monotonic() + timeout
    while (handle := _try_lock(folder)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"another process has kept {folder} locked for {timeout:g} seconds")
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


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step. To be called within `locked(path.parent)`.

    What a killed writer left behind is removed on the way: nobody else writes here now.
    """
    for leftover in path.parent.glob(f".*{_TEMP_SUFFIX}"):
        leftover.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=_TEMP_SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
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
        temp.chmod(path.parent.stat().st_mode & 0o666)


def _replace(source: str, target: Path) -> None:
    """Windows refuses for as long as somebody is just reading the old file."""
    for _ in range(50 if sys.platform == "win32" else 0):
        try:
            return os.replace(source, target)
        except PermissionError:
            time.sleep(_POLL)
    os.replace(source, target)
