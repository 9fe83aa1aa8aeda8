"""A settings file as plain data that knows where each key and value stands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .. import yaml_source
from ..errors import Problem, SettingsError
from ..redaction import Redactor
from ..yaml_source.document import Loc, dotted
from ..yaml_source.text import decode

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same parser under its old name
    import tomli as tomllib

_NO_SECRETS = Redactor(environ={})


@dataclass
class Document:
    """What a settings file holds.

    `file` is its name for messages, `name` its bare name. Places come from `yaml` or, in a TOML file,
    from `lines`. `redactor` cleans what messages quote.
    """

    file: str = ""
    name: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    yaml: yaml_source.Document | None = None
    lines: dict[Loc, int] = field(default_factory=dict)
    redactor: Redactor = _NO_SECRETS
    _written: dict[Loc, Loc] = field(default_factory=dict)

    def problem(self, message: str, path: Loc, *, at_key: bool = False) -> Problem:
        """A problem with the value (or the key) at a path, which is named as it stands in the file."""
        written = self._as_written(path)
        if self.yaml is not None:
            return _cleaned(self.yaml.problem(written, message, at_key=at_key), self.redactor)
        problem = Problem(message, self.file, self.line(path), path=dotted(written))
        return _cleaned(problem, self.redactor)

    def line(self, path: Loc) -> int:
        """The line of a key, or else of the innermost of its parents that is known; 0 if none is."""
        written = self._as_written(path)
        if self.yaml is not None:
            return self.yaml.line_of(written)
        known = (self.lines.get(written[:length], 0) for length in range(len(written), 0, -1))
        return next(filter(None, known), 0)

    def rename(self, old: Loc, new: Loc) -> None:
        """From now on `new` and what is below it stand where `old` does."""
        self._written[new] = old

    def _as_written(self, path: Loc) -> Loc:
        for length in range(len(path), 0, -1):
            old = self._written.get(path[:length])
            if old is not None:
                return old + path[length:]
        return path


_SECTIONS = "llm:, judge:, …"


def parse_yaml(raw: bytes, file: str, name: str, sections: str = _SECTIONS) -> Document:
    """A YAML file. Raises `SettingsError` with every problem of its syntax.

    `sections` are the words for what it should hold.
    """
    parsed = yaml_source.parse(raw, file)
    _refuse(parsed.problems)
    if len(parsed.documents) > 1:
        second = parsed.documents[1].problem((), "settings are one YAML document; this begins another one")
        _refuse([second])
    if not parsed.documents:
        return Document(file, name)
    document = Document(file, name, yaml=parsed.documents[0])
    document.data = _as_sections(parsed.documents[0].value, document, sections)
    return document


def parse_toml(raw: bytes, file: str, name: str, table: tuple[str, ...]) -> Document | None:
    """The table of a TOML file, None if it isn't there. Only lines are known, not columns."""
    text, problems = decode(raw, file)
    _refuse(problems)
    content = text.content if text else ""
    try:
        data: Any = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError.of(f"not valid TOML: {error}", file=file) from None
    for part in table:
        data = data.get(part) if isinstance(data, dict) else None
    if data is None:
        return None
    document = Document(file, name, lines=_toml_lines(content, table))
    document.data = _as_sections(data, document)
    return document


def _refuse(problems: Iterable[Problem]) -> None:
    found = tuple(_cleaned(problem, _NO_SECRETS) for problem in problems)
    if found:
        raise SettingsError(found)


def _cleaned(problem: Problem, redactor: Redactor) -> Problem:
    """Lines of a settings file may hold keys: no message shows them."""
    return replace(
        problem,
        message=redactor.text(problem.message),
        source_line=redactor.text(problem.source_line),
    )


def _as_sections(data: Any, document: Document, sections: str = _SECTIONS) -> dict[str, Any]:
    if isinstance(data, dict):
        return data
    kind = "a list" if isinstance(data, list) else "one value"
    message = f"settings are a mapping of sections ({sections}); the file holds {kind}"
    raise SettingsError((document.problem(message, ()),))


_TOML_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_TOML_KEY = re.compile(r"""\s*([A-Za-z0-9_."' -]+?)\s*=""")


def _toml_lines(text: str, table: tuple[str, ...]) -> dict[Loc, int]:
    """The lines of tables and keys below `table`, as far as a look at each line can tell."""
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
