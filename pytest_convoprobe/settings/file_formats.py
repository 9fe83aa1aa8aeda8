"""Settings from YAML, from TOML and from a command line, each as a document that knows its places."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
    """The table of a TOML file, None if it isn't there. Only lines are known, not columns."""
    text, problems = decode(raw, file)
    if problems:
        raise SettingsError(tuple(map(_cleaned, problems)))
    content = text.content if text else ""
    try:
        data: Any = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError.of(f"not valid TOML: {error}", file=file) from None
    for part in table:
        data = data.get(part) if isinstance(data, dict) else None
    if data is None:
        return None
    return _settings(Document(data, TomlPlaces(file, _toml_lines(content, table))), _SECTIONS)


def from_command_line(overrides: Mapping[str, Any]) -> Document:
    """Values by dotted path as sections. None means not given; one without a section is under `""`."""
    sections: dict[str, dict[str, Any]] = {}
    for path, value in overrides.items():
        section, _, name = path.partition(".")
        if value is not None:
            sections.setdefault(section, {})[name] = value
    return Document(sections, Nowhere(COMMAND_LINE), is_secret=is_secret)


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
class TomlPlaces:
    """The places of a TOML table: the lines of its keys."""

    file: str
    lines: Mapping[Loc, int]

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        return Problem(message, self.file, self.line_of(loc), path=dotted(loc))

    def has(self, loc: Loc) -> bool:
        return loc in self.lines

    def written(self, loc: Loc) -> str:
        return ""

    def line_of(self, loc: Loc) -> int:
        known = (self.lines.get(loc[:length], 0) for length in range(len(loc), 0, -1))
        return next(filter(None, known), 0)


_TOML_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_TOML_KEY = re.compile(r"""\s*([A-Za-z0-9_."' -]+?)\s*=""")


def _toml_lines(text: str, table: tuple[str, ...]) -> dict[Loc, int]:
    """The lines of tables and keys below `table`, as far as single lines show them."""
    lines: dict[Loc, int] = {}
    for path, number in _toml_keys(text):
        if path[: len(table)] == table:
            lines.setdefault(path[len(table) :], number)
    return lines


def _toml_keys(text: str) -> Iterator[tuple[Loc, int]]:
    current: Loc = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TOML_TABLE.match(line)
        key = None if header else _TOML_KEY.match(line)
        if header:
            current = _toml_path(header[1])
        if header or key:
            yield current + (_toml_path(key[1]) if key else ()), number


def _toml_path(text: str) -> Loc:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems in the order of their places in the file."""
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
