"""JSON in the folder of stored runs: files that a command replaces, and lines that a run adds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ResultsError
from ..files import cannot, locked, read_file, write_atomically
from .out_of_git import keep_out_of_git

T = TypeVar("T")

_UNLIKE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What comes up where a content has another form than the one that this release writes."""


def read_kept(path: Path, read: Callable[[Any], T], *, writer: str) -> T | None:
    """What `read` makes of the content of a file; None if there is no file.

    `writer` is the command that writes it. Raises `ResultsError` for a file that can't be read, or that has
    another content.
    """
    try:
        return read(json.loads(read_file(path)))
    except (FileNotFoundError, NotADirectoryError):
        # Where something else has the name of the folder, nothing can be stored, which is said elsewhere.
        return None
    except OSError as error:
        raise ResultsError(cannot(path, "read", error)) from None
    except _UNLIKE:
        raise ResultsError(
            f"{path}: this is not what `{writer}` writes; delete it and run that again"
        ) from None


def replace_kept(results: Path, path: Path, content: Callable[[], object]) -> None:
    """Write the plain data that `content` gives into a file in the folder of stored runs.

    No other process replaces the file meanwhile, so `content` may read it first and add to it. Raises
    `ResultsError` if the disk refuses.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        keep_out_of_git(results)
        with locked(path.parent):
            write_atomically(path, json.dumps(content(), indent=1).encode("ascii") + b"\n")
    except OSError as error:
        raise ResultsError(cannot(path, "written", error)) from None


def read_lines(paths: Iterable[Path], read: Callable[[Any], T]) -> Iterator[T]:
    """What `read` makes of each line of these files.

    Lines that it can't read are left out: the last one of a process that was killed is torn, and a later
    release may write others. Raises `ResultsError` for a file that the system refuses to read.
    """
    for path in paths:
        try:
            lines = read_file(path).split(b"\n")
        except OSError as error:
            raise ResultsError(cannot(path, "read", error)) from None
        for line in lines:
            try:
                found = read(json.loads(line))
            except _UNLIKE:
                continue
            yield found
