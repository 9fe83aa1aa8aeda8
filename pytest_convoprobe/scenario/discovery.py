"""Which files are scenario files: one rule, for pytest's collection and for the command line.

A file is one if a pattern matches its path below the root, unless the path has a folder or file
whose name begins with `_` or `.`, lies in `node_modules` or a virtual environment, or in a folder
with a `benchmark.yaml` (a benchmark's files are not scenarios). Folders above the root don't
matter: a project that was checked out into a folder named `scenarios` isn't full of scenarios.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

DEFAULT_PATTERNS = (
    "**/scenarios/**/*.yaml",
    "**/scenarios/**/*.yml",
    "**/*.scenario.yaml",
    "**/*.scenario.yml",
)
"""`**` matches any number of folders; a pattern without a `/` matches names in every folder.

The case of the ending makes no difference: `refund.YAML` must not go unnoticed.
"""

BENCHMARK_FILE = "benchmark.yaml"
_OF_A_SCENARIO = re.compile(rb"^(synthetic_user|evaluation)\s*:", re.MULTILINE)
_NEVER = frozenset(("node_modules", "site-packages"))
_ROOT_MARKERS = (
    ".git",
    "pyproject.toml",
    "pytest.ini",
    "tox.ini",
    "setup.cfg",
    "setup.py",
    "convoprobe.yaml",
    ".convoprobe.yaml",
)


def matches(relative: PurePath, patterns: Sequence[str] = DEFAULT_PATTERNS) -> bool:
    """Whether a path, relative to the root, has the name of a scenario file. Looks at names only."""
    if any(_is_left_out(part) for part in relative.parts):
        return False
    path = relative.with_suffix(relative.suffix.lower()).as_posix() if relative.name else ""
    return any(_regex(pattern).fullmatch(path) for pattern in patterns)


def is_scenario_file(path: Path, root: Path, patterns: Sequence[str] = DEFAULT_PATTERNS) -> bool:
    """Whether a file below `root` (pytest's rootdir, or where a search starts) is a scenario file.

    The root's own name counts too (the root may be the `scenarios` folder itself), unless it is a
    git checkout: what somebody calls their clone says nothing. A path that isn't below the root
    is none.
    """
    try:
        relative = path.relative_to(root)
    except ValueError:
        return False
    named = matches(relative, patterns) or _matches_with_name_of_root(relative, root, patterns)
    return named and not _in_benchmark(relative, root)


def _matches_with_name_of_root(relative: PurePath, root: Path, patterns: Sequence[str]) -> bool:
    if not root.name or _is_left_out(root.name):
        return False
    return matches(PurePath(root.name, relative), patterns) and not (root / ".git").exists()


def find_scenario_files(
    folder: Path, root: Path | None = None, patterns: Sequence[str] = DEFAULT_PATTERNS
) -> tuple[Path, ...]:
    """The scenario files in a folder and below it, sorted; `root` is the project's by default."""
    base = project_root(_absolute(folder)) if root is None else _absolute(root)
    return tuple(path for path in _files(folder) if is_scenario_file(_absolute(path), base, patterns))


def project_root(folder: Path) -> Path:
    """The nearest folder at or above `folder` that looks like a project's, or `folder` itself."""
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in _ROOT_MARKERS):
            return candidate
    return folder


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        if BENCHMARK_FILE in names and is_benchmark(Path(place, BENCHMARK_FILE)):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if _is_worth_a_look(place, name))
        yield from (path for name in sorted(names) if (path := Path(place, name)).is_file())


def _absolute(path: Path) -> Path:
    """Without `..`, and with symbolic links as they are: their own names count."""
    return Path(os.path.abspath(path))


def _is_worth_a_look(place: str, name: str) -> bool:
    return not _is_left_out(name) and not Path(place, name, "pyvenv.cfg").exists()


def _is_left_out(name: str) -> bool:
    return name.startswith(("_", ".")) or name in _NEVER


def _in_benchmark(relative: PurePath, root: Path) -> bool:
    """Whether a folder from the root down to the file's own holds a benchmark."""
    return any(is_benchmark(root / parent / BENCHMARK_FILE) for parent in relative.parents)


def is_benchmark(file: Path) -> bool:
    """Whether there is such a file, and it isn't a scenario that happens to have the name.

    Otherwise that name would silently take a whole folder out of a gate.
    """
    try:
        return file.is_file() and _OF_A_SCENARIO.search(file.read_bytes()) is None
    except OSError:
        return True


@lru_cache(maxsize=64)
def _regex(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression; `**/` is any number of folders, also none."""
    full = pattern.removeprefix("./") if "/" in pattern else f"**/{pattern}"
    return re.compile("".join(_translated(full)))


def _translated(pattern: str) -> Iterator[str]:
    for token in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern):
        yield _WILDCARDS.get(token) or re.escape(token)


_WILDCARDS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
