"""Which file a reference such as `_shared.yaml#personas.hurried` means, and whether it may be included.

A reference is relative to the file that has it. What it leads to lies in the same project, is YAML or JSON,
and all files together have no more bytes than one may have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import Problem
from ..suggest import did_you_mean
from .text import MAX_BYTES, Text, content_of, decode

ENDINGS = (".yaml", ".yml", ".json")
MAX_FILES = 100
"""The most files that one file is made of."""

_DRIVE = re.compile(r"[A-Za-z]:")
_URL = re.compile(r"[A-Za-z][\w+.-]+://")


class CannotInclude(Exception):
    """A reference that can't be followed; its text is the message at the place of the reference."""


@dataclass(frozen=True)
class IncludedFile:
    """A file and its text. `name` is for messages, `path` as it was named, `real` without symbolic links.

    `problems` are what is wrong with its bytes; then there is no text.
    """

    name: str
    path: Path
    real: str
    text: Text
    problems: tuple[Problem, ...] = ()


@dataclass
class IncludedFiles:
    """The files that belong to one file, which is at `path` and called `name` in messages.

    `root_of` gives the project's folder for a folder. Without a path nothing can be included. Each file is
    read once; `size` is the number of bytes that have been read, those of the first file included.
    """

    path: Path | None
    name: str
    root_of: Callable[[Path], Path]
    size: int = 0
    _known: dict[str, IncludedFile] = field(default_factory=dict)
    _roots: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that were read, besides the first one."""
        return tuple(sorted(one.path for one in self._known.values()))

    def first(self, text: Text) -> IncludedFile:
        """The file that includes others."""
        path = Path(os.path.abspath(self.path)) if self.path is not None else Path()
        return IncludedFile(self.name, path, os.path.realpath(path), text)

    def find(self, reference: str, by: IncludedFile) -> IncludedFile:
        """The file that a file names (without what follows `#`).

        Raises `CannotInclude` if there is no such file, or if it may not be included.
        """
        if self.path is None:
            raise CannotInclude(
                "a text that isn't in a file can't include one: nothing says in which folder that is. "
                "Put the scenario in a file, or write here what is to be included"
            )
        _check_form(reference)
        path = Path(os.path.normpath(by.path.parent / reference))
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            raise CannotInclude(f"`{reference}` can't be the name of a file") from None
        if real not in self._known:
            shown = _shown(by.name, reference)
            self._check_place(reference, shown, path, real)
            self._known[real] = self._read(shown, path, real)
        return self._known[real]

    def _check_place(self, reference: str, shown: str, path: Path, real: str) -> None:
        if len(self._known) >= MAX_FILES:
            raise CannotInclude(f"more than {MAX_FILES} files are included; put some of them together")
        project = self._project()
        if not any(_is_within(real, root) for root in project):
            link = any(_is_within(str(path), root) for root in project)
            how = "through a symbolic link it leads" if link else "it is"
            raise CannotInclude(
                f"`{reference}` can't be included: {how} outside of the project, which is {project[0]}; "
                "put the file into the project"
            )
        if not os.path.exists(path):
            raise CannotInclude(f"there is no file {shown}{_near(path)}")

    def _project(self) -> tuple[str, ...]:
        """The folder of the project: also where it really is, for a build that works in a folder of links."""
        if not self._roots:
            first = Path(os.path.abspath(self.path or "."))
            folders = (first.parent, Path(os.path.realpath(first)).parent)
            roots = [str(self.root_of(folder)) for folder in folders]
            self._roots = tuple(dict.fromkeys([roots[0], *map(os.path.realpath, roots)]))
        return self._roots

    def _read(self, name: str, path: Path, real: str) -> IncludedFile:
        text, problems = self._text(path, name)
        return IncludedFile(name, path, real, text or Text(name, ""), tuple(problems))

    def _text(self, path: Path, name: str) -> tuple[Text | None, list[Problem]]:
        data = content_of(path, name)
        if isinstance(data, Problem):
            return None, [data]
        self.size += len(data)
        if self.size > MAX_BYTES:
            limit = f"{MAX_BYTES / 1e6:.0f} MB"
            return None, [
                Problem(f"with this file, the files together have more than {limit}; include less", name)
            ]
        return decode(data, name)


def _check_form(reference: str) -> None:
    """Whether it is the relative name of a file that may be included, by the name alone."""
    if "${" in reference:
        complaint = "files are included before parameters are filled in; write the name of the file itself"
    elif _URL.match(reference):
        complaint = "only files of the project can be included, not addresses"
    elif not reference.isprintable():
        complaint = "that can't be the name of a file"
    elif "\\" in reference:
        complaint = "write `/` between folders: that works on every system"
    elif reference.startswith(("/", "~")) or _DRIVE.match(reference):
        complaint = "it has to be relative to this file: another computer has other folders"
    elif not reference.lower().endswith(ENDINGS):
        complaint = f"only files of YAML and JSON can be included ({', '.join(ENDINGS)})"
    else:
        return
    raise CannotInclude(f"`{reference[:200]}` can't be included: {complaint}")


def _is_within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def _near(path: Path) -> str:
    """Other files of the folder with a similar name."""
    try:
        names: Iterable[str] = [name for name in os.listdir(path.parent) if name.lower().endswith(ENDINGS)]
    except OSError:
        return f"; there is no folder `{path.parent.name}` either"
    return did_you_mean(path.name, sorted(names)[:1_000])


def _shown(name: str, reference: str) -> str:
    """The name of a file in messages, seen from where its includer is named."""
    return os.path.normpath(os.path.join(os.path.dirname(name), reference))
