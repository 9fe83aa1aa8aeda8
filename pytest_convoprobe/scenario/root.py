"""Which folder is the project's root: the one that pytest takes."""

from __future__ import annotations

import configparser
from collections.abc import Callable
from pathlib import Path

from .discovery import project_root

_ALWAYS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
_WITH_SECTION = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}


def find_root(start: Path) -> Path:
    """The folder that is pytest's rootdir when pytest is started in `start`."""
    folders = (start, *start.parents)
    for marked in (_configures_pytest, _has("pyproject.toml"), _has("setup.py")):
        if found := next((folder for folder in folders if marked(folder)), None):
            return found
    return project_root(start)


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
        return text in file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _has_section(file: Path, section: str) -> bool:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(file, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError):
        return False
    return parser.has_section(section)
