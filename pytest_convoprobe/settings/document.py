"""A settings file as plain data that knows where each key and value stands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from ..errors import Problem, SettingsError
from ..redaction import Redactor

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same parser under its old name
    import tomli as tomllib

Path = tuple[str | int, ...]

_MAX_BYTES = 1_000_000
_MAX_NODES = 50_000


@dataclass(frozen=True)
class Place:
    """A line and a column, both from 1; column 0 when only the line is known."""

    line: int
    column: int = 0


@dataclass
class Document:
    """What a settings file holds.

    `file` is its name for messages, `name` its bare name. `keys` and `values` say where a path's
    key and value stand. `redactor` cleans the lines that messages quote.
    """

    file: str = ""
    name: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    redactor: Redactor = field(default_factory=lambda: Redactor(environ={}))

    def problem(self, message: str, path: Path, *, at_key: bool = False) -> Problem:
        """A problem with the value (or the key) at a path; the nearest known place is named."""
        place = self.place(path, at_key=at_key)
        quoted = self.lines[place.line - 1] if 0 < place.line <= len(self.lines) else ""
        return Problem(
            self.redactor.text(message),
            file=self.file,
            line=place.line,
            column=place.column,
            path=dotted(path),
            source_line=self.redactor.text(quoted) if place.column else "",
        )

    def place(self, path: Path, *, at_key: bool = False) -> Place:
        """Where a path stands, or else the innermost of its parents that is known."""
        first, second = (self.keys, self.values) if at_key else (self.values, self.keys)
        for length in range(len(path), 0, -1):
            found = first.get(path[:length]) or second.get(path[:length])
            if found:
                return found
        return Place(0)

    def rename(self, old: Path, new: Path) -> None:
        """Let everything below `old` be found below `new` too."""
        for places in (self.keys, self.values):
            moved = {
                new + path[len(old) :]: place for path, place in places.items() if path[: len(old)] == old
            }
            places.update(moved)


def dotted(path: Path) -> str:
    """`("target", "tools", 0)` as `target.tools[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def decode(raw: bytes, file: str) -> str:
    """The text of a file; a byte-order mark is dropped."""
    if len(raw) > _MAX_BYTES:
        raise SettingsError.of(
            f"the file has {len(raw):,} bytes; settings may have {_MAX_BYTES:,}", file=file
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        bad = Problem(f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8", file, line)
        raise SettingsError((bad,)) from None


def parse_yaml(text: str, file: str, name: str) -> Document:
    """A YAML file. Raises `SettingsError` for bad syntax, duplicate keys and unsafe tags."""
    document = Document(file, name, lines=text.splitlines())
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        data = _YamlReader(loader, document).value(node, ()) if node is not None else None
    except yaml.YAMLError as error:
        raise SettingsError((_syntax_problem(error, document),)) from None
    except RecursionError:
        raise SettingsError.of("the file is nested too deeply", file=file) from None
    document.data = _as_sections(data, document)
    return document


def parse_toml(text: str, file: str, name: str, table: tuple[str, ...]) -> Document | None:
    """The table of a TOML file, None if it isn't there. Only lines are known, not columns."""
    document = Document(file, name, lines=text.splitlines())
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError.of(f"not valid TOML: {error}", file=file) from None
    for part in table:
        data = data.get(part) if isinstance(data, dict) else None
    if data is None:
        return None
    document.keys.update(_toml_places(document.lines, table))
    document.data = _as_sections(data, document)
    return document


def _as_sections(data: Any, document: Document) -> dict[str, Any]:
    if data is None:
        return {}
    if isinstance(data, dict):
        return data
    kind = "a list" if isinstance(data, list) else "one value"
    message = f"settings are a mapping of sections (llm:, judge:, …); the file holds {kind}"
    raise SettingsError((document.problem(message, ()),))


def _syntax_problem(error: yaml.YAMLError, document: Document) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    words = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark is None:
        return document.problem(f"not valid YAML: {words}", ())
    document.values[("",)] = Place(mark.line + 1, mark.column + 1)
    found = document.problem(f"not valid YAML: {words}", ("",))
    return Problem(found.message, found.file, found.line, found.column, "", found.source_line)


class _YamlReader:
    """Turns YAML's nodes into data and notes where they stand."""

    def __init__(self, loader: yaml.SafeLoader, document: Document) -> None:
        self._loader = loader
        self._document = document
        self._left = _MAX_NODES

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._left -= 1
        if self._left < 0 or len(path) > 50:
            raise yaml.MarkedYAMLError(
                problem="the file grows without end by its aliases", problem_mark=node.start_mark
            )
        self._document.values[path] = _place(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._loader.construct_object(node, deep=True)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[Any, Any]:
        self._refuse_duplicates(node)
        self._loader.flatten_mapping(node)
        result: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = _key(key_node)
            below = (*path, key)
            self._document.keys[below] = _place(key_node)
            result[key] = self.value(value_node, below)
        return result

    def _refuse_duplicates(self, node: yaml.MappingNode) -> None:
        seen: dict[str, int] = {}
        for key_node, _ in node.value:
            key = _key(key_node)
            if key in seen and key != "<<":
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is there twice, first on line {seen[key]}",
                    problem_mark=key_node.start_mark,
                )
            seen[key] = key_node.start_mark.line + 1


def _key(node: yaml.Node) -> str:
    """Keys are text, whatever YAML makes of a bare `on` or `5`."""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    raise yaml.MarkedYAMLError(problem="a key must be plain text", problem_mark=node.start_mark)


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


_TOML_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_TOML_KEY = re.compile(r"""\s*([A-Za-z0-9_."' -]+?)\s*=""")


def _toml_places(lines: list[str], table: tuple[str, ...]) -> dict[Path, Place]:
    """The lines of tables and keys below `table`, as far as a look at each line can tell."""
    places: dict[Path, Place] = {}
    for path, place in _toml_keys(lines):
        if path[: len(table)] == table:
            places.setdefault(path[len(table) :], place)
    return places


def _toml_keys(lines: list[str]) -> Iterator[tuple[Path, Place]]:
    current: Path = ()
    for number, line in enumerate(lines, start=1):
        header = _TOML_TABLE.match(line)
        key = None if header else _TOML_KEY.match(line)
        if header:
            current = _toml_path(header[1])
        if header or key:
            yield current + (_toml_path(key[1]) if key else ()), Place(number)


def _toml_path(text: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
