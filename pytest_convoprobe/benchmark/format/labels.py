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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import Problem, SettingsError
from ...files import shown_path
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
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError.of(f"the labels cannot be read: {error}", file=file) from None
    rows = _json_lines(text) if _is_json_lines(path, text) else _csv_rows(text)
    labels, problems = [], []
    for line, row in rows:
        found = ("", row) if isinstance(row, str) else _label(line, row)
        if isinstance(found, Label):
            labels.append(found)
        else:
            problems.append(Problem(found[1], file, line, path=found[0]))
    if not labels and not problems:
        problems = [Problem(f"there are no labels in it; {_columns()}", file)]
    refuse(problems)
    return labels


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


def _json_lines(text: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Line and object, or what is wrong with the line."""
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except (ValueError, RecursionError) as error:
            yield line, f"the line is not JSON ({error}); {_columns()}"
            continue
        if not isinstance(row, dict):
            row = f"the line is not a JSON object; {_columns()}"
        yield line, row if isinstance(row, str) else _misspelt(row) or row


def _csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    # Spreadsheets write other separators where the comma is part of a number.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    header: list[str] | None = None
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if header is not None:
                yield reader.line_num, _named(header, row)
                continue
            header = [name.strip().lower() for name in row]
            if misspelt := _misspelt(header):
                yield reader.line_num, misspelt
                return
            if lacking := [name for name in _NEEDED if not any(known in header for known in _NAMES[name])]:
                yield reader.line_num, f"the header has no column {' and no '.join(lacking)}; {_columns()}"
                return
    except csv.Error as error:
        yield reader.line_num, f"the line is not csv ({error})"


def _misspelt(names: Iterable[str]) -> str:
    """What is wrong with a name that is meant as one of ours; people's tables may have other columns, too."""
    given = set(names)
    open_names = [one for known in _NAMES.values() if not given.intersection(known) for one in known]
    wrong = next((name for name in names if name and suggest(name, open_names)), None)
    return f"{wrong}: {unknown_key(wrong, open_names)}" if wrong else ""


def _named(header: list[str], row: list[str]) -> Mapping[str, Any] | str:
    if len(row) > len(header):
        return f"the line has {len(row)} values, but the header has {len(header)} columns"
    return dict(zip(header, row, strict=False))


def _label(line: int, row: Mapping[str, Any]) -> Label | tuple[str, str]:
    """The label, or a column and what is wrong with its value."""
    values = {name: _value(row, name) for name in _NAMES}
    if lacking := [name for name in _NEEDED if not values[name]]:
        return lacking[0], f"{MISSING}; {_columns()}"
    present = _ANSWERS.get(values["present"].lower())
    if present is None:
        return "present", must_be(_EXPECTED, values["present"])
    row_id, _, number = values["conversation"].partition("#")
    if number and values["sample"] and number != values["sample"]:
        return "sample", f"must be {number}, as in the conversation, got {describe(values['sample'])}"
    sample = number or values["sample"] or "1"
    if not (sample.isascii() and sample.isdigit() and int(sample)):
        return "sample", must_be("a whole number from 1", sample)
    return Label(line, row_id, int(sample), values["metric"], present, values["target"])


def _value(row: Mapping[str, Any], name: str) -> str:
    """As text, without blanks around it; empty if there is none under any of its names."""
    found = next((row[known] for known in _NAMES[name] if row.get(known) is not None), "")
    return str(found).strip()
