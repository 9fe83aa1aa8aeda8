"""Reads what people say of conversations: csv with a header, or JSON Lines.

::

    conversation,metric,present
    m01_s001_v01,m01,true
    m01_s001_v01#2,m01,no

A conversation is a scenario's id, with `#2` behind it for its second sample; a `target` column says whose
conversation it is, where several have one of that id, and a `sample` column may be used instead of `#2`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import Problem, SettingsError
from ...files import read_text, shown_path
from ...outside_json import doubled_key
from ...suggest import suggest
from ...yaml_source.explain import MISSING, describe, must_be, unknown_key

_NAMES = {
    "conversation": ("conversation", "id", "scenario_id", "conversation_id"),
    "metric": ("metric", "metric_id"),
    "present": ("present", "label"),
    "sample": ("sample",),
    "target": ("target",),
}
_NEEDED = ("conversation", "metric", "present")
_ANSWERS = {
    **dict.fromkeys(("true", "yes", "y", "1", "present"), True),
    **dict.fromkeys(("false", "no", "n", "0", "absent"), False),
}
_EXPECTED = "true or false (yes or no, 1 or 0 will do)"
_MOST = 20


@dataclass(frozen=True)
class Label:
    """One line of the file; `target` is empty where the line does not say it."""

    line: int
    id: str
    sample: int
    metric_id: str
    present: bool
    target: str = ""


def read_labels(path: Path) -> list[Label]:
    """All labels of a file. Raises `SettingsError` with every line that can't be used."""
    file = shown_path(path)
    try:
        text = read_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError.of(f"the labels cannot be read: {error}", file=file) from None
    rows = _json_lines(text) if _is_json_lines(path, text) else _csv_rows(text)
    found = [_label(row) if isinstance(row, _Row) else row for row in rows]
    labels = [one for one in found if isinstance(one, Label)]
    problems = [replace(one, file=file) for one in found if isinstance(one, Problem)]
    if not found:
        problems = [Problem(f"there are no labels in it; {_columns()}", file)]
    refuse(problems)
    return labels


@dataclass(frozen=True)
class _Row:
    """A line with values, by the names that the file has for them; `columns` says where each begins."""

    line: int
    values: Mapping[str, Any]
    columns: Mapping[str, int]

    def value(self, name: str) -> str:
        """As text, without blanks around it; empty if there is none under any of its names."""
        found = (self.values[known] for known in _NAMES[name] if self.values.get(known) is not None)
        return str(next(found, "")).strip()

    def problem(self, name: str, message: str) -> Problem:
        column = next((self.columns[known] for known in _NAMES[name] if known in self.columns), 0)
        return Problem(message, line=self.line, column=column, path=name)


def refuse(problems: list[Problem]) -> None:
    """Raises `SettingsError` if there are problems: the first of them, and how many more."""
    if len(problems) > _MOST:
        more = Problem(f"and {len(problems) - _MOST} more", problems[0].file)
        problems = [*problems[:_MOST], more]
    if problems:
        raise SettingsError(tuple(problems))


def _columns() -> str:
    return f"expected are conversation, metric and present ({_EXPECTED}), as csv with a header or as jsonl"


def _is_json_lines(path: Path, text: str) -> bool:
    if path.suffix.lower() in (".jsonl", ".ndjson", ".csv"):
        return path.suffix.lower() != ".csv"
    return text.lstrip().startswith("{")


def _json_lines(text: str) -> Iterator[_Row | Problem]:
    """The objects, or what is wrong with their lines."""
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            values = json.loads(content)
            doubled = doubled_key(content)
        except json.JSONDecodeError as error:
            yield Problem(f"the line is not JSON ({error.msg}); {_columns()}", line=line, column=error.colno)
            continue
        except (ValueError, RecursionError) as error:
            yield Problem(f"the line is not JSON ({error}); {_columns()}", line=line)
            continue
        if doubled is not None:
            yield Problem(f"the key `{doubled}` is given twice in this line", line=line)
            continue
        if not isinstance(values, dict):
            yield Problem(f"the line is not a JSON object; {_columns()}", line=line, column=1)
            continue
        columns = {name: _after_key(content, name) for name in values}
        yield _misspelt(line, columns) or _Row(line, values, columns)


def _after_key(content: str, name: str) -> int:
    """Where the value of a key begins, as far as the key is written without escapes; 0 if it isn't."""
    found = re.search(rf'"{re.escape(name)}"\s*:\s*', content)
    return found.end() + 1 if found else 0


def _csv_rows(text: str) -> Iterator[_Row | Problem]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    # Spreadsheets write other separators where the comma is part of a number.
    delimiter = max(",;\t", key=first.count)
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(lines, delimiter=delimiter)
    header: list[str] | None = None
    last = 0
    try:
        for row in reader:
            line, before, last = reader.line_num, last, reader.line_num
            if not any(cell.strip() for cell in row):
                continue
            # A row with a line break in quotes has values on several lines; only its last line is named.
            starts = _starts(lines[line - 1], delimiter) if line == before + 1 else []
            if header is not None:
                yield _named(line, header, row, starts)
                continue
            header = [name.strip().lower() for name in row]
            if problem := _wrong_header(line, header, starts):
                yield problem
                return
    except csv.Error as error:
        yield Problem(f"the line is not csv ({error})", line=reader.line_num)


def _starts(line: str, delimiter: str) -> list[int]:
    """Where the values of a line begin, from 1: the csv module doesn't say it."""
    quoted, starts = False, [1]
    for place, character in enumerate(line, 1):
        # A quote that is doubled inside quotes ends them and begins them again.
        quoted ^= character == '"'
        if character == delimiter and not quoted:
            starts.append(place + 1)
    return starts


def _wrong_header(line: int, header: Sequence[str], starts: Sequence[int]) -> Problem | None:
    # A last name that is there twice is where its values are taken from.
    columns = {name: starts[index] if index < len(starts) else 0 for index, name in enumerate(header)}
    if misspelt := _misspelt(line, columns):
        return misspelt
    if lacking := [name for name in _NEEDED if not any(known in header for known in _NAMES[name])]:
        message = f"the header has no column {' and no '.join(lacking)}; {_columns()}"
        return Problem(message, line=line, column=1)
    return None


def _misspelt(line: int, columns: Mapping[str, int]) -> Problem | None:
    """What is wrong with a name that is meant as one of ours; people's tables may have other columns, too."""
    open_names = [one for known in _NAMES.values() if not columns.keys() & known for one in known]
    wrong = next((name for name in columns if name and suggest(name, open_names)), None)
    if wrong is None:
        return None
    return Problem(unknown_key(wrong, open_names), line=line, column=columns[wrong], path=wrong)


def _named(line: int, header: Sequence[str], row: Sequence[str], starts: Sequence[int]) -> _Row | Problem:
    if len(row) > len(header):
        message = f"the line has {len(row)} values, but the header has {len(header)} columns"
        return Problem(message, line=line, column=starts[len(header)] if len(starts) == len(row) else 0)
    columns = dict(zip(header, starts, strict=False)) if len(starts) == len(row) else {}
    return _Row(line, dict(zip(header, row, strict=False)), columns)


def _label(row: _Row) -> Label | Problem:
    """The label, or what is wrong with a value."""
    values = {name: row.value(name) for name in _NAMES}
    if lacking := [name for name in _NEEDED if not values[name]]:
        return row.problem(lacking[0], f"{MISSING}; {_columns()}")
    present = _ANSWERS.get(values["present"].lower())
    if present is None:
        return row.problem("present", must_be(_EXPECTED, values["present"]))
    row_id, _, number = values["conversation"].partition("#")
    if number and values["sample"] and number != values["sample"]:
        message = f"must be {number}, as in the conversation, got {describe(values['sample'])}"
        return row.problem("sample", message)
    sample = number or values["sample"] or "1"
    if not (sample.isascii() and sample.isdigit() and int(sample)):
        return row.problem("sample", must_be("a whole number from 1", sample))
    return Label(row.line, row_id, int(sample), values["metric"], present, values["target"])
