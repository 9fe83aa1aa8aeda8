"""How a session of pytest finds the relays of its project: by private files of the user's.

A relay of `convoprobe gateway` writes one while it runs: its process, the root of its project, its address.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files import read_text
from ..outside_json import read_json

_MOST_BYTES = 10_000
_LONGEST_NAME = 60
# Nothing else may stand where a host does: `http://127.0.0.1:80@elsewhere/` leads elsewhere.
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d{1,5}/[\w-]+", re.ASCII)


@contextmanager
def announced(url: str, root: Path) -> Iterator[None]:
    """A time in which sessions of a project find the relay at an address. Raises `OSError`."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_private(folder):
        raise PermissionError(f"{folder} belongs to another user, or others may write there")
    file = folder / f"{os.getpid()}.json"
    file.unlink(missing_ok=True)  # of a process that had the same number
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump({"pid": os.getpid(), "root": str(root.resolve()), "url": url}, out)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def found_relays(root: Path) -> list[str]:
    """The addresses of the relays of a project, and of projects below it, whose processes live."""
    folder = _folder()
    if not folder.is_dir() or not _is_private(folder):
        return []
    found = (_url_in(file, root.resolve()) for file in sorted(folder.glob("*.json")))
    return [url for url in found if url]


def is_address(url: str) -> bool:
    """Whether this is the address of a relay or a session, which are on loopback only."""
    return _ADDRESS.fullmatch(url) is not None


def _url_in(file: Path, root: Path) -> str:
    try:
        data = read_json(read_text(file)[:_MOST_BYTES])
        pid, url = int(file.stem), str(data["url"])
        mine = Path(data["root"]).is_relative_to(root)  # a repository may have several projects
    except (OSError, ValueError, KeyError, TypeError):
        return ""  # it is being written, or somebody else's
    if not _lives(pid):
        with contextlib.suppress(OSError):
            file.unlink()
        return ""
    return url if mine and is_address(url) else ""


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime):
        return Path(runtime, "convoprobe")
    user = os.getuid() if sys.platform != "win32" else os.environ.get("USERNAME", "user")
    return Path(tempfile.gettempdir(), f"convoprobe-{user}"[:_LONGEST_NAME])


def _is_private(folder: Path) -> bool:
    if sys.platform == "win32":
        return True  # the folder for temporary files is the user's own
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _lives(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # who connects finds out
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
