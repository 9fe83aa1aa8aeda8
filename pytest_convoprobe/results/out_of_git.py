"""The folder of stored runs, which is not for version control."""

from __future__ import annotations

import contextlib
from pathlib import Path


def keep_out_of_git(results: Path) -> None:
    """Write a `.gitignore` for all that is in the folder, unless there is one. Raises `OSError`."""
    ignore = results / ".gitignore"
    if not ignore.exists():
        with contextlib.suppress(FileExistsError), ignore.open("x", encoding="utf-8") as file:
            file.write("# Made by pytest-convoprobe: stored runs are not for version control.\n*\n")
