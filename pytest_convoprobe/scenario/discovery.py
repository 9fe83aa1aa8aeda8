"""Which files are scenario files: one rule, for pytest's collection and for the command line.

A file is one if a pattern matches its path below the root, unless the path has a folder or file
whose name begins with `_` or `.`, lies in `node_modules` or a virtual environment, is a settings file, or
lies in the folder of a benchmark without being a scenario by its content. Folders above the root don't
matter: a project that was checked out into a folder named `scenarios` isn't full of scenarios.

`search.py` walks through folders with this rule.
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

ENDINGS = (".yaml", ".yml")
"""Whatever the patterns are, only YAML files are read."""

BENCHMARK_FILE = "benchmark.yaml"
SETTINGS_FILES = tuple(
    f"{name}{ending}" for name in ("convoprobe", ".convoprobe", "mcprobe") for ending in ENDINGS
)
"""Settings may be next to the scenarios that they are for."""

_OF_A_SCENARIO = frozenset(("synthetic_user", "evaluation"))
"""Keys that hardly anything but a scenario has. Each of the two is also a key of another file of ours:
`synthetic_user` of settings, `evaluation` of a benchmark's config.yaml."""

_EXTENDS = "extends"
"""A scenario may leave both to another file. Other programs have files with this key."""

LABELS_ENDINGS = (".labels.yaml", ".labels.yml", ".labels.jsonl")
"""How the names of files with labelled conversations end."""

_BESIDE = frozenset(
    ("name", "description", "skip", "tags", "metadata", "config", "gate", "faults", "parameters")
)
"""Keys of a scenario that many other files have, too."""
SCENARIO_KEYS = _OF_A_SCENARIO | _BESIDE | {_EXTENDS}
"""All keys of a scenario."""
_CONVERSATION_OF_LABELS = frozenset(("turns", "stored"))
_OF_LABELS = _CONVERSATION_OF_LABELS | {"criteria"}
_NOT_OF_A_BENCHMARK = _OF_A_SCENARIO | {"skip"}
_OF_A_BENCHMARK = frozenset(("metrics", "description", "scenario", "gate"))
_GUESSED = 100
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
    if any(_is_left_out(part) for part in relative.parts) or relative.suffix.lower() not in ENDINGS:
        return False
    path = relative.with_suffix(relative.suffix.lower()).as_posix()
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
    return named and not _is_of_others(path, relative, root) and not is_loop(path, root)


def _matches_with_name_of_root(relative: PurePath, root: Path, patterns: Sequence[str]) -> bool:
    if not root.name or _is_left_out(root.name):
        return False
    return matches(PurePath(root.name, relative), patterns) and not (root / ".git").exists()


def project_root(folder: Path) -> Path:
    """The nearest folder at or above `folder` that looks like a project's, or `folder` itself."""
    for candidate in (folder, *folder.parents):
        if is_marked(candidate):
            return candidate
    return folder


def is_marked(folder: Path) -> bool:
    """Whether a folder looks like a project's."""
    return any((folder / marker).exists() for marker in _ROOT_MARKERS)


def is_worth_a_look(folder: Path, root: Path) -> bool:
    """Whether scenario files may lie in a folder below the root, by its name and by what it is."""
    if _is_left_out(folder.name) or is_loop(folder, root):
        return False
    environment = (folder / "pyvenv.cfg", folder / "conda-meta" / "history")
    return not any(file.exists() for file in environment)


def is_loop(path: Path, root: Path) -> bool:
    """Whether a path, below the root, comes by one of its own folders again, through a symbolic link.

    Such a path is only another name of something that is found under a shorter one; each scenario would
    run some forty times, until the system refuses to follow the link.
    """
    parts = [path, *(parent for parent in path.parents if root in parent.parents)]
    if not any(map(os.path.islink, parts)):
        return False
    places = [*map(os.path.realpath, parts), os.path.realpath(root)]
    return len(set(places)) < len(places)


def _is_left_out(name: str) -> bool:
    return name.startswith(("_", ".")) or name in _NEVER


def _is_of_others(path: Path, relative: PurePath, root: Path) -> bool:
    """Whether a file is settings, labels or a benchmark's, by its name or place and by what is in it.

    By the place alone, a scenario with an unlucky name or neighbour would never run, and nobody would know.
    """
    if path.name in SETTINGS_FILES:
        keys = _keys_of(path)
        return "evaluation" not in keys and not _extends_scenario(keys)
    if has_name_of_labels(path):
        return not looks_like_scenario(path)
    if not _in_benchmark(relative, root):
        return False
    # `evaluation` is a key of a benchmark's config.yaml, too.
    keys = _keys_of(path)
    return "synthetic_user" not in keys and not _extends_scenario(keys)


def _in_benchmark(relative: PurePath, root: Path) -> bool:
    """Whether a folder from the root down to the file's own holds a benchmark."""
    return any(is_benchmark(root / parent / BENCHMARK_FILE) for parent in relative.parents)


def is_benchmark(file: Path) -> bool:
    """Whether there is such a file, and it looks like a benchmark: by its keys, without reading it as YAML.

    Otherwise a stray file of that name would silently take a whole folder of scenarios out of a gate.
    """
    keys = _keys_of(file) if file.is_file() else frozenset()
    return "name" in keys and bool(keys & _OF_A_BENCHMARK) and not keys & _NOT_OF_A_BENCHMARK


def looks_like_scenario(file: Path) -> bool:
    """Whether a file has a key that hardly anything but a scenario has. It need not be valid."""
    return _are_of_scenario(_keys_of(file))


def _are_of_scenario(keys: frozenset[str]) -> bool:
    return bool(keys & _OF_A_SCENARIO) or _extends_scenario(keys)


def _extends_scenario(keys: frozenset[str]) -> bool:
    """Whether a file leaves the rest to another one, and has no other keys than those of a scenario."""
    return {_EXTENDS, "name"} <= keys <= SCENARIO_KEYS


def has_name_of_labels(path: PurePath) -> bool:
    """Whether a file may have labelled conversations, by its name. Other programs have labels, too."""
    return path.name.lower().endswith(LABELS_ENDINGS)


def looks_like_labels(file: Path, *, known: bool = False) -> bool:
    """Whether a file of such a name has the keys of a labelled conversation, and not those of a scenario.

    One of the keys will do where it is `known` that the project has such files: a misspelt one is said to be.
    """
    keys = _keys_of(file)
    if _are_of_scenario(keys):
        return False
    return bool(keys & _OF_LABELS) if known else "criteria" in keys and bool(keys & _CONVERSATION_OF_LABELS)


def _keys_of(file: Path) -> frozenset[str]:
    from .top_keys import keys_of  # not at the top: most suites have no file that is worth a look

    return keys_of(file)


def misspelt_key(file: Path) -> tuple[str, str] | None:
    """A key of a file that was likely meant to be one of those of a scenario, and which; None without.

    One near miss alone is no sign: `evaluator` is a key of other programs. A scenario has others beside it.
    """
    keys = sorted(_keys_of(file))
    if not _BESIDE.intersection(keys):
        return None
    from ..suggest import suggest  # not at the top: most suites never guess

    # Guessing is slow, and somebody's dump may have thousands of keys.
    near = ((key, suggest(key, (*_OF_A_SCENARIO, _EXTENDS))) for key in keys[:_GUESSED] if key != _EXTENDS)
    return next(((key, meant) for key, meant in near if meant is not None), None)


@lru_cache(maxsize=64)
def _regex(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression; `**/` is any number of folders, also none."""
    full = pattern.removeprefix("./") if "/" in pattern else f"**/{pattern}"
    return re.compile("".join(_translated(full)))


def _translated(pattern: str) -> Iterator[str]:
    for token in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern):
        yield _WILDCARDS.get(token) or re.escape(token)


_WILDCARDS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
