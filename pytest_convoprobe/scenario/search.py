"""The walk through a project's folders that finds every scenario file there is.

It depends on nothing that pytest does, so that what pytest leaves out can be found by comparing.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..files import oddity
from .discovery import (
    BENCHMARK_FILE,
    DEFAULT_PATTERNS,
    ENDINGS,
    is_benchmark,
    is_scenario_file,
    is_worth_a_look,
    project_root,
)

NO_RECURSE = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
"""The folders that pytest passes by if `norecursedirs` is not set: its own default."""


@dataclass(frozen=True)
class Unreadable:
    """A name that would be a scenario file, or a folder that may hold some, and why nobody can look."""

    path: Path
    reason: str


@dataclass
class Found:
    """What there is in a folder and below it, sorted by path: `benchmarks` are `benchmark.yaml` files."""

    scenarios: list[Path] = field(default_factory=list)
    benchmarks: list[Path] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def find_scenario_files(
    folder: Path, root: Path | None = None, patterns: Sequence[str] = DEFAULT_PATTERNS
) -> tuple[Path, ...]:
    """The scenario files in a folder and below it, sorted; `root` is the project's by default."""
    return tuple(search(folder, root, patterns).scenarios)


def search(folder: Path, root: Path | None = None, patterns: Sequence[str] = DEFAULT_PATTERNS) -> Found:
    """All scenario files and benchmarks in a folder and below it, by way of symbolic links too."""
    here = _absolute(folder)
    base = project_root(here) if root is None else _absolute(root)
    walk = _Walk(base if base in (here, *here.parents) else here, patterns)
    walk.through(folder)
    return walk.found


def passed_by(path: Path, start: Path, patterns: Sequence[str] = NO_RECURSE) -> tuple[Path, str] | None:
    """The folder between `start` and a file that pytest passes by for its name, and the pattern of that."""
    for folder in reversed([parent for parent in path.parents if start in parent.parents]):
        if pattern := next((one for one in patterns if _fits(folder, one)), None):
            return folder, pattern
    return None


def _fits(folder: Path, pattern: str) -> bool:
    """As pytest matches: a pattern with a separator against the path, any other against the name."""
    if "/" not in pattern:
        return fnmatch.fnmatch(folder.name, pattern)
    return fnmatch.fnmatch(folder.as_posix(), pattern if os.path.isabs(pattern) else f"*/{pattern}")


def _is_of_another_kind(entry: os.DirEntry[str]) -> bool:
    """Whether it is a plain file that is not YAML; links, devices and folders are looked at closer."""
    # Nearly all files of a project are such ones, and this asks the system nothing.
    return not entry.name.lower().endswith(ENDINGS) and entry.is_file(follow_symlinks=False)


class _Walk:
    def __init__(self, root: Path, patterns: Sequence[str]) -> None:
        self._root = root
        self._patterns = patterns
        self.found = Found()

    def through(self, folder: Path) -> None:
        try:
            with os.scandir(folder) as entries:
                inside = [folder / entry.name for entry in entries if not _is_of_another_kind(entry)]
        except OSError as error:
            self._unreadable(folder, f"the folder cannot be read ({error.strerror})", within=True)
            return
        benchmark = folder / BENCHMARK_FILE
        if is_benchmark(benchmark):
            self.found.benchmarks.append(benchmark)
        for path in sorted(inside, key=lambda path: (os.path.isdir(path), path.name)):
            self._look_at(path)

    def _look_at(self, path: Path) -> None:
        try:
            odd = oddity(path)
        except FileNotFoundError:
            if path.is_symlink():  # else somebody has just removed it
                # It may have been a file or a whole folder; pytest says no word about either.
                reason = f"the link leads nowhere ({os.readlink(path)})"
                self._unreadable(path, reason, within=not path.suffix)
        except OSError as error:
            self._unreadable(path, f"it cannot be looked at ({error.strerror})", within=not path.suffix)
        else:
            self._look_into(path, odd)

    def _look_into(self, path: Path, odd: str) -> None:
        if odd:
            self._unreadable(path, odd, within=False)
        elif path.is_dir():
            if is_worth_a_look(_absolute(path), self._root):
                self.through(path)
        elif self._is_ours(path):
            self.found.scenarios.append(path)

    def _unreadable(self, path: Path, reason: str, *, within: bool) -> None:
        """`within`: what counts is whether any YAML file in it would be one of scenarios."""
        if self._is_ours(path / "any.yaml" if within else path):
            self.found.unreadable.append(Unreadable(path, reason))

    def _is_ours(self, path: Path) -> bool:
        return is_scenario_file(_absolute(path), self._root, self._patterns)


def _absolute(path: Path) -> Path:
    """Without `..`, and with symbolic links as they are: their own names count."""
    return Path(os.path.abspath(path))
