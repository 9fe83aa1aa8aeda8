"""The scenario files that a command is about: those that it is given, and those of folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..files import shown_path

_PASSED_BY = (
    "pytest passes by folders named `{}` (norecursedirs), so this would not run; move it, or leave it out on "
    "purpose with a name that begins with `_`"
)


class NotRun(NamedTuple):
    """Why pytest would not run what is in a file; empty if it would."""

    reason: str = ""
    unreadable: bool = False


def scenario_files(path: Path, patterns: Sequence[str]) -> Iterator[tuple[Path, NotRun]]:
    """The scenario files of a folder, by the rules that pytest has in this project."""
    from ..scenario.discovery import DEFAULT_PATTERNS
    from ..scenario.root import find_root, ini_words
    from ..scenario.search import NO_RECURSE, passed_by, search

    if not path.is_dir():
        yield path, NotRun()
        return
    folder = path.absolute()
    root = find_root(folder)
    found = search(path, root, patterns or ini_words(root, "convoprobe_files") or DEFAULT_PATTERNS)
    no_recurse = ini_words(root, "norecursedirs")
    for file in found.scenarios:
        passed = passed_by(file.absolute(), folder, no_recurse or NO_RECURSE)
        if passed and no_recurse:
            continue  # somebody wrote this list: what it leaves out is left out on purpose
        yield file, NotRun(_PASSED_BY.format(passed[1]) if passed else "")
    yield from ((one.path, NotRun(one.reason, unreadable=True)) for one in found.unreadable)


def note_if_passed_by(folder: Path, written: Sequence[Path]) -> str:
    """What to say if pytest would not come by files that were just written to a folder; else empty."""
    collected = {file.resolve() for file, fault in scenario_files(folder, ()) if not fault.reason}
    if all(file.resolve() in collected for file in written):
        return ""
    return (
        f"note: pytest doesn't take the files in {shown_path(folder)} for scenarios. "
        "Write to a folder named `scenarios`, or set the ini option convoprobe_files"
    )
