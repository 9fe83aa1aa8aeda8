"""Which folder is the project's root: the one that pytest takes, and what pytest's ini file there says.

The command line has to find what pytest finds, without pytest.
"""

from __future__ import annotations

import configparser
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..files import read_text
from .discovery import is_marked, project_root

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same parser under its old name
    import tomli as tomllib

_ALWAYS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
_WITH_SECTION = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}


def find_root(start: Path) -> Path:
    """The folder that is pytest's rootdir when pytest is started in `start`."""
    folders = (start, *start.parents)
    for marked in (_configures_pytest, _has("pyproject.toml"), _has("setup.py")):
        if found := next((folder for folder in folders if marked(folder)), None):
            return found
    return project_root(start)


def tree_of(folder: Path) -> Path:
    """The folder with all of a project: its git checkout, or the outermost folder that looks like one.

    Without any, it is the working directory, if that is above. Not the rootdir of pytest: in a checkout of
    several packages, these may share files.
    """
    folders = (folder, *folder.parents)
    if checkout := next((one for one in folders if (one / ".git").exists()), None):
        return checkout
    here = Path.cwd()
    return next((one for one in reversed(folders) if is_marked(one)), here if here in folders else folder)


def ini_words(root: Path, name: str) -> tuple[str, ...]:
    """The words of an option in the ini file that pytest reads in its rootdir; empty if nothing sets it."""
    for file in (root / one for one in ("pytest.ini", ".pytest.ini")):
        if file.is_file():
            return _option(file, "pytest", name)
    if mentions(root / "pyproject.toml", "[tool.pytest"):
        return _option_of_toml(root / "pyproject.toml", name)
    found = (one for one in _WITH_SECTION.items() if _has_section(root / one[0], one[1]))
    return next((_option(root / file, section, name) for file, section in found), ())


def _option(file: Path, section: str, name: str) -> tuple[str, ...]:
    return tuple(shlex.split(_parsed(file).get(section, name, fallback="")))


def _option_of_toml(file: Path, name: str) -> tuple[str, ...]:
    """From `[tool.pytest.ini_options]`, or `[tool.pytest]` of later versions."""
    try:
        table = tomllib.loads(read_text(file))["tool"]["pytest"]
    except (OSError, ValueError, LookupError):
        return ()
    value = {**table, **table.get("ini_options", {})}.get(name, ())
    return tuple(shlex.split(value)) if isinstance(value, str) else tuple(map(str, value))


def _configures_pytest(folder: Path) -> bool:
    if any((folder / name).is_file() for name in _ALWAYS):
        return True
    if mentions(folder / "pyproject.toml", "[tool.pytest"):
        return True
    return any(_has_section(folder / name, section) for name, section in _WITH_SECTION.items())


def _has(name: str) -> Callable[[Path], bool]:
    return lambda folder: (folder / name).is_file()


def mentions(file: Path, text: str) -> bool:
    """Whether a file contains a text; False if it can't be read."""
    try:
        return text in read_text(file, errors="replace")
    except OSError:
        return False


def _has_section(file: Path, section: str) -> bool:
    return _parsed(file).has_section(section)


def _parsed(file: Path) -> configparser.RawConfigParser:
    """An ini file; one that cannot be read has no sections."""
    parser = configparser.RawConfigParser(strict=False)
    with suppress(configparser.Error, UnicodeDecodeError, OSError):
        parser.read(file, encoding="utf-8")
    return parser
