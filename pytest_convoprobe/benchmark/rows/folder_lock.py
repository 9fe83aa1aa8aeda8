"""Keeps all but one run out of a benchmark's folder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ...errors import ResultsError
from ...files import locked, shown_path
from ..format.folder import BenchmarkFolder
from .cost import carry_over

# Locks of files can't be awaited, only tried again.
_POLL = 0.2
# Somebody who looks whether a run is at work has the lock for a moment: no reason not to begin.
_GLANCE = 0.3


class FolderInUse(ResultsError):
    """Another run is at work in the folder."""


@asynccontextmanager
async def only_run(
    folder: BenchmarkFolder, patience: float = 0.0, *, dry: bool = False, makes_rows: bool = True
) -> AsyncIterator[Path | None]:
    """Keep other runs out of the folder, after waiting for one so many seconds.

    A `dry` one writes nothing there. One that makes no rows may run where none could be written: then nobody
    else can, either. Both are given a folder for what tables have to keep meanwhile. Raises `FolderInUse`.
    """
    if not dry:
        with contextlib.suppress(*(() if makes_rows else (ResultsError,))):
            _make_rows_folder(folder)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + max(patience, _GLANCE)
    with contextlib.ExitStack() as open_locks:
        while folder.rows.is_dir():  # where a dry run finds none, no run has been at work
            try:
                open_locks.enter_context(locked(folder.rows, timeout=0))
                break
            except TimeoutError:
                if loop.time() >= deadline:
                    raise FolderInUse(
                        f"another run is at work in {shown_path(folder.path)}; wait for its end"
                    ) from None
            await asyncio.sleep(_POLL)
        if dry or not makes_rows:
            yield Path(open_locks.enter_context(TemporaryDirectory(prefix="convoprobe-")))
        else:
            carry_over(folder)
            yield None


def is_at_work(folder: BenchmarkFolder) -> bool:
    """Whether a run is at work in the folder at this moment."""
    if not folder.rows.is_dir():
        return False
    try:
        with locked(folder.rows, timeout=0):
            return False
    except TimeoutError:
        return True


@contextlib.contextmanager
def looked_at() -> Iterator[Path]:
    """A folder for what tables have to keep while somebody looks at a benchmark, also beside a run.

    Journals only grow and other files are replaced in one step, so what is read is never half of something.
    """
    with TemporaryDirectory(prefix="convoprobe-") as scratch:
        yield Path(scratch)


def _make_rows_folder(folder: BenchmarkFolder) -> None:
    try:
        folder.rows.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError), (folder.rows / ".gitignore").open("x") as file:
            file.write(
                "# Made by pytest-convoprobe: what its runs have finished, for a later run to continue.\n*\n"
            )
    except OSError as error:
        raise ResultsError(f"{shown_path(folder.rows)} cannot be written: {error.strerror}") from None
