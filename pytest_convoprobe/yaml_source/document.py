"""A file as plain data that knows where each key and value is written, whatever the file's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import Problem

Loc = tuple[str | int, ...]
"""The way to a value: keys and indexes from the top."""


def dotted(loc: Loc) -> str:
    """`synthetic_user.landmarks[1].turn`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return text.removeprefix(".")


class Places(Protocol):
    """Where the parts of a file are. Each format has its own; `Nowhere` is for what isn't a file."""

    @property
    def file(self) -> str: ...

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        """A problem with the value at `loc`, or with its key; the nearest place that exists is named."""
        ...

    def has(self, loc: Loc) -> bool:
        """Whether there is a value at `loc`."""
        ...

    def written(self, loc: Loc) -> str:
        """A plain value as it is written (`yes`, `007`); empty for a list or a mapping."""
        ...

    def line_of(self, loc: Loc) -> int:
        """The line of the key at `loc`, or of the innermost key above it; 0 if it is not known."""
        ...


@dataclass(frozen=True)
class Nowhere:
    """The places of what has none: values of a command line, or a file that isn't there."""

    file: str = ""

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        return Problem(message, self.file, path=dotted(loc))

    def has(self, loc: Loc) -> bool:
        return False

    def written(self, loc: Loc) -> str:
        return ""

    def line_of(self, loc: Loc) -> int:
        return 0


@dataclass
class Document:
    """What a file contains. `value` is plain data: dict, list, str, int, float, bool, None.

    Readers of settings change it in place: variables are filled in, and keys get our names. `mask` hides
    secrets in what messages quote. `is_secret` says of which values a message shows nothing at all.
    `content` is the text of the file, `included` are those of the files that it takes parts from, by name.
    """

    value: Any = field(repr=False)
    places: Places = field(default=Nowhere(), repr=False)
    mask: Callable[[str], str] = str
    is_secret: Callable[[Loc], bool] = lambda _: False
    content: str = field(default="", repr=False)
    included: Mapping[str, str] = field(default_factory=dict, repr=False)
    _written: dict[Loc, Loc] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The file's name in messages."""
        return self.places.file

    @property
    def first_line(self) -> int:
        """Where it begins, from 1."""
        return self.line_of(())

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        """A problem with the value at `loc`, or with its key, under the name that the file has for it."""
        return self.places.problem(self.as_written(loc), message, at_key=at_key).masked(self.mask)

    def has(self, loc: Loc) -> bool:
        """Whether there is a value at `loc`."""
        return self.places.has(self.as_written(loc))

    def written(self, loc: Loc) -> str:
        """A plain value as it is written (`yes`, `007`), empty for a list or a mapping."""
        return self.places.written(self.as_written(loc))

    def content_of(self, file: str) -> str:
        """The text of its file, or of one that it includes, by the name in messages."""
        return self.included.get(file, self.content)

    def line_of(self, loc: Loc) -> int:
        """The line of the key at `loc`, or of the innermost key above it; 0 if it is not known."""
        return self.places.line_of(self.as_written(loc))

    def rename(self, old: Loc, new: Loc) -> None:
        """From now on `new` and what is below it are where `old` is written."""
        self._written[new] = old

    def as_written(self, loc: Loc) -> Loc:
        """The way to the same place by the names that the file has."""
        for length in range(len(loc), 0, -1):
            old = self._written.get(loc[:length])
            if old is not None:
                return old + loc[length:]
        return loc
