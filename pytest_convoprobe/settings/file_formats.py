"""Settings from YAML, from TOML and from a command line, each as a document that knows its places."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Problem, SettingsError
from ..redaction import Redactor
from ..yaml_source import Document, Loc, Nowhere, dotted, parse
from ..yaml_source.text import decode
from .secret_places import is_secret

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same parser under its old name
    import tomli as tomllib

COMMAND_LINE = "command line"
_NO_SECRETS = Redactor(environ={})
_SECTIONS = "llm:, judge:, …"


def parse_yaml(raw: bytes, file: str, sections: str = _SECTIONS) -> Document:
    """A YAML file. Raises `SettingsError` with every problem of its syntax.

    `sections` are the words for what it should contain.
    """
    parsed = parse(raw, file)
    if parsed.problems:
        # What follows a mistake may be a key; its secrets are not known yet, only how secrets look.
        raise SettingsError(tuple(map(_cleaned, parsed.problems)))
    if len(parsed.documents) > 1:
        second = parsed.documents[1].problem((), "settings are one YAML document; this begins another one")
        raise SettingsError((_cleaned(second),))
    return _settings(parsed.documents[0], sections) if parsed.documents else empty(file)


def parse_toml(raw: bytes, file: str, table: tuple[str, ...]) -> Document | None:
    """The table of a TOML file, None if it isn't there."""
    text, problems = decode(raw, file)
    if problems:
        raise SettingsError(tuple(map(_cleaned, problems)))
    content = text.content if text else ""
    try:
        data: Any = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.fullmatch(str(error))
        message, line, column = found.groups() if found else (str(error), 0, 0)
        problem = Problem(f"not valid TOML: {message}", file, int(line), int(column))
        raise SettingsError((_cleaned(problem),)) from None
    for part in table:
        data = data.get(part) if isinstance(data, dict) else None
    if data is None:
        return None
    return _settings(Document(data, TomlPlaces(file, _toml_marks(content, table))), _SECTIONS)


def from_command_line(overrides: Mapping[str, Any]) -> Document:
    """Values by dotted path as sections. None means not given; one without a section is under `""`."""
    sections: dict[str, dict[str, Any]] = {}
    for path, value in overrides.items():
        section, _, name = path.partition(".")
        if value is not None:
            sections.setdefault(section, {})[name] = value
    return Document(sections, Nowhere(COMMAND_LINE), is_secret=is_secret)


def given_in_code(error: SettingsError) -> SettingsError:
    """The error of overrides that a program gave as `settings=`, and not the command line."""
    return SettingsError(
        tuple(replace(one, file="settings=") if one.file == COMMAND_LINE else one for one in error.problems)
    )


def empty(file: str = "") -> Document:
    """Settings that say nothing."""
    return Document({}, Nowhere(file), is_secret=is_secret)


def _settings(document: Document, sections: str) -> Document:
    """The document as one of settings: its lines may contain keys, which no message shows."""
    document.mask, document.is_secret = _NO_SECRETS.text, is_secret
    if not isinstance(document.value, dict):
        kind = "a list" if isinstance(document.value, list) else "one value"
        message = f"settings are a mapping of sections ({sections}); the file is {kind}"
        raise SettingsError((document.problem((), message),))
    return document


def _cleaned(problem: Problem) -> Problem:
    return problem.masked(_NO_SECRETS.text)


@dataclass(frozen=True)
class _Mark:
    """Where a key is, and the column of its value; all count from 1."""

    line: int
    key: int
    value: int


_UNMARKED = _Mark(0, 0, 0)


@dataclass(frozen=True)
class TomlPlaces:
    """The places of a TOML table: those of its keys, as far as single lines show them.

    The parser gives no places. Keys in a value of their own (`llm = {model = "x"}`) are where that value is.
    """

    file: str
    marks: Mapping[Loc, _Mark]

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        mark = self._nearest(loc)
        column = mark.key if at_key else mark.value
        return Problem(message, self.file, mark.line, column, dotted(loc))

    def has(self, loc: Loc) -> bool:
        return loc in self.marks

    def written(self, loc: Loc) -> str:
        return ""

    def line_of(self, loc: Loc) -> int:
        return self._nearest(loc).line

    def _nearest(self, loc: Loc) -> _Mark:
        known = (self.marks.get(loc[:length]) for length in range(len(loc), 0, -1))
        return next(filter(None, known), _UNMARKED)


_TOML_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_TOML_KEY = re.compile(r"""\s*([A-Za-z0-9_."' -]+?)\s*=\s*""")
# As the parser writes it. Only Python 3.14 has the numbers apart.
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)


def _toml_marks(text: str, table: tuple[str, ...]) -> dict[Loc, _Mark]:
    """The places of tables and keys below `table`, as far as single lines show them."""
    marks: dict[Loc, _Mark] = {}
    for path, mark in _toml_keys(text):
        if path[: len(table)] == table:
            marks.setdefault(path[len(table) :], mark)
    return marks


def _toml_keys(text: str) -> Iterator[tuple[Loc, _Mark]]:
    current: Loc = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TOML_TABLE.match(line)
        key = None if header else _TOML_KEY.match(line)
        if header:
            current = _toml_path(header[1])
            yield current, _Mark(number, header.start(1) + 1, header.start(1) + 1)
        elif key:
            yield current + _toml_path(key[1]), _Mark(number, key.start(1) + 1, key.end() + 1)


def _toml_path(text: str) -> Loc:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems in the order of their places in the file."""
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
