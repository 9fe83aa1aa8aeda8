"""`file://` in a promptfoo configuration: read from its own folder, and nowhere else."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ConvoprobeError
from ...files import read_file, shown_path
from ..sources import MOST_BYTES, ForeignFile, load

_DATA = (".json", ".jsonl", ".yaml", ".yml", ".csv")
_TEXT = (".txt", ".md", ".j2", ".njk", ".jinja", ".jinja2", ".html", ".xml", ".sql")
_REMOTE = re.compile(r"(?:https?|huggingface|s3|gs|az|sharepoint)://")
_MOST_FILES = 1_000


class NotRead(Exception):
    """What a reference names isn't read; the text says why."""


class SuiteFiles:
    """The files of one suite. References are relative to the folder of its configuration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def sources(self, reference: str) -> Sequence[ForeignFile]:
        """The files with data that a reference names, which may have `*` in it. Raises `NotRead`."""
        return [self._data(path) for path in self._paths(reference)]

    def value(self, reference: str) -> Any:
        """The data or the text of one file. Raises `NotRead`."""
        paths = self._paths(reference)
        if len(paths) != 1:
            raise NotRead(f"it names {len(paths)} files, and one is expected")
        (path,) = paths
        return self.text(path) if path.suffix.lower() in _TEXT else self._data(path).data

    def texts(self, reference: str) -> Sequence[tuple[Path, str]]:
        """The files that a reference names, as texts. Raises `NotRead`."""
        return [(path, self.text(path)) for path in self._paths(reference)]

    def exists(self, reference: str) -> bool:
        """Whether the reference, without `file://`, is a file of the suite."""
        try:
            return all(path.is_file() for path in self._paths(reference))
        except (NotRead, OSError):
            return False

    def text(self, path: Path) -> str:
        """The text of a file. Raises `NotRead`."""
        try:
            return read_file(path, MOST_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise NotRead(f"it can't be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise NotRead("it isn't a text in UTF-8") from None

    def _data(self, path: Path) -> ForeignFile:
        if path.suffix.lower() not in _DATA:
            raise NotRead(f"`{path.suffix or path.name}` files are code, or data that isn't read here")
        try:
            return load(path)
        except (ConvoprobeError, csv.Error) as error:
            raise NotRead(f"it can't be read: {error}") from None

    def _paths(self, reference: str) -> list[Path]:
        if _REMOTE.match(reference):
            raise NotRead("it is elsewhere, and nothing is fetched")
        name = reference.removeprefix("file://")
        pattern = name.removeprefix("./")
        if "*" in pattern and not Path(pattern).is_absolute():
            found = sorted(path for path in self._folder.glob(pattern) if path.is_file())[:_MOST_FILES]
        else:
            found = [self._folder / name]
        inside = [self._inside(path) for path in found]
        if not inside:
            raise NotRead("no file has such a name")
        return inside

    def _inside(self, path: Path) -> Path:
        """The file, if it is one in the suite's folder: a configuration of a stranger reads nothing else."""
        try:
            real = path.resolve()
            real.relative_to(self._folder)
        except (ValueError, OSError):
            raise NotRead(f"it is outside of {shown_path(self._folder)}") from None
        if not real.is_file():
            # `checks.js:name` names a function in a file.
            raise NotRead("there is no such file" if ":" not in path.name else "it names a function in code")
        return real
