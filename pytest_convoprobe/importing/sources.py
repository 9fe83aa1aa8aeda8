"""Files that other tools read, as data with places; and whose they look like."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Problem, ScenarioFileError
from ..files import cannot, read_file, shown_path
from ..outside_json import doubled_key, read_json
from ..yaml_source import Document, Loc, dotted, parse
from .noting import redactor

MOST_BYTES = 64 * 1024 * 1024
"""The largest file that is read."""

_YAML = (".yaml", ".yml")
_CODE = {
    ".js": "JavaScript",
    ".cjs": "JavaScript",
    ".mjs": "JavaScript",
    ".ts": "TypeScript",
    ".py": "Python",
}
# YAML 1.2, which JavaScript's tools read, takes only `true` and `false` for booleans.
_NO_BOOLEAN = re.compile(r"(?:yes|no|on|off|y|n)\Z", re.IGNORECASE)
_DECIMAL = re.compile(r"[-+]?0\d+\Z")


def refused(
    message: str, file: str = "", line: int = 0, column: int = 0, path: str = ""
) -> ScenarioFileError:
    """The error for a file that can't be read as what it was given as."""
    return ScenarioFileError((Problem(message, file, line, column, path),))


@dataclass(frozen=True)
class ForeignFile:
    """A file of another tool. `data` is what it contains, and `name` its name in messages."""

    path: Path
    name: str
    data: Any
    document: Document | None = None

    def place(self, loc: Loc = ()) -> str:
        """Where something is, for people: `tests[2].assert[0] (line 31)`."""
        line = self.document.line_of(loc) if self.document is not None else 0
        return f"{dotted(loc) or 'the file'}{f' (line {line})' if line else ''}"


def load(path: Path) -> ForeignFile:
    """What a file contains, by its suffix. Raises `ScenarioFileError` with the place of what is wrong."""
    name, suffix = shown_path(path), path.suffix.lower()
    if suffix in _CODE:
        raise refused(
            f"this is code in {_CODE[suffix]}, which isn't run here; give a file with the data, "
            "in YAML, JSON or CSV",
            name,
        )
    try:
        content = read_file(path, MOST_BYTES)
    except OSError as error:
        raise refused(cannot(path, "read", error)) from None
    if suffix in _YAML:
        return _from_yaml(path, name, content)
    text = _text_of(content, name)
    if suffix == ".csv":
        return ForeignFile(path, name, list(_rows(text, name)))
    return ForeignFile(path, name, _lines(text, name) if suffix == ".jsonl" else _json(text, name))


def _text_of(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise refused("the file is not UTF-8; save it as UTF-8", name, line) from None


def _from_yaml(path: Path, name: str, content: bytes) -> ForeignFile:
    parsed = parse(content, name)
    if parsed.problems:
        raise ScenarioFileError(tuple(problem.masked(redactor().text) for problem in parsed.problems))
    if len(parsed.documents) != 1:
        found = "nothing" if not parsed.documents else f"{len(parsed.documents)} documents"
        raise refused(f"one YAML document is expected, and there is {found}", name)
    (document,) = parsed.documents
    return ForeignFile(path, name, _as_yaml_1_2(document.value, (), document), document)


def _as_yaml_1_2(value: Any, loc: Loc, document: Document) -> Any:
    """Values as tools in JavaScript read them: `no` is a text, and `010` is ten."""
    if isinstance(value, dict):
        return {key: _as_yaml_1_2(item, (*loc, key), document) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_yaml_1_2(item, (*loc, index), document) for index, item in enumerate(value)]
    if not isinstance(value, (bool, int, float)):
        return value
    written = document.written(loc)
    if isinstance(value, bool):
        return written if _NO_BOOLEAN.match(written) else value
    if "_" in written:
        return written
    return int(written) if _DECIMAL.match(written) else value


def _json(text: str, name: str) -> Any:
    """The JSON of a text; several lines with a value each are a list of them."""
    try:
        value = read_json(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return _lines(text, name)
        raise refused(f"this is not JSON: {error.msg}", name, error.lineno, error.colno) from None
    except ValueError as error:
        raise refused(f"this is not JSON that can be read: {error}", name) from None
    if (key := doubled_key(text)) is not None:
        raise refused(f"the key `{key}` is given twice in one object; only one of them can be meant", name)
    return value


def _lines(text: str, name: str) -> list[Any]:
    values = []
    # Not `splitlines`: a text in JSON may have a line separator of Unicode as it is.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(read_json(line))
        except ValueError as error:
            raise refused(f"the line is not JSON: {error}", name, number) from None
    return values


def _rows(text: str, name: str) -> Iterator[dict[str, str]]:
    """The rows of a table, by the names of its columns."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = [column.strip() for column in next(reader, [])]
        if doubled := [column for column in columns if column and columns.count(column) > 1]:
            raise refused(f"the column `{doubled[0]}` is given twice; only one of them can be meant", name, 1)
        for row in reader:
            if len(row) > len(columns):
                raise refused(
                    f"this row has {len(row)} cells, but there are {len(columns)} columns; "
                    "put a text with a comma in quotes",
                    name,
                    reader.line_num,
                )
            if any(row):
                yield dict(zip(columns, row, strict=False))
    except csv.Error as error:
        raise refused(f"this is not CSV: {error}", name, reader.line_num) from None


def _first(value: Any) -> Mapping[str, Any]:
    """The value, or the first of a list, if it is a mapping."""
    one = value[0] if isinstance(value, list) and value else value
    return one if isinstance(one, Mapping) else {}


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda value: any(name in _first(value) for name in names)


# In the order in which they are asked: the most special keys first.
_LOOKS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("scenario", _has("synthetic_user")),
    ("tau2", _has("user_scenario", "evaluation_criteria")),
    ("tau2", lambda value: isinstance(value, Mapping) and _has("user_scenario")(value.get("tasks"))),
    ("adk config", lambda value: isinstance(value, Mapping) and "criteria" in value and len(value) <= 4),
    ("adk", _has("eval_cases", "evalCases", "eval_set_id", "evalSetId", "initial_session")),
    ("adk", _has("expected_tool_use")),
    ("adk", lambda value: isinstance(value, list) and _has("query", "data")(value)),
    (
        "deepeval",
        lambda value: isinstance(value, Mapping) and _has("goldens", "conversationalGoldens")(value),
    ),
    ("deepeval", _has("expected_output", "expectedOutput", "expected_outcome", "expectedOutcome")),
    ("deepeval", lambda value: isinstance(value, list) and _has("input", "scenario")(value)),
    ("promptfoo results", lambda value: isinstance(value, Mapping) and {"results", "evalId"} <= value.keys()),
    ("promptfoo", _has("prompts", "providers", "tests", "defaultTest", "scenarios", "vars", "assert")),
    ("promptfoo", lambda value: any(str(key).startswith("__expected") for key in _first(value))),
)


def looks_like(value: Any) -> str:
    """The format that data looks like: a name of `formats`, or a word for what isn't a suite; else empty."""
    return next((name for name, fits in _LOOKS if fits(value)), "")
