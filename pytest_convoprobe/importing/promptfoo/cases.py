"""The tests of a promptfoo configuration: inline, in files, in tables, and in `scenarios`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from ...yaml_source import Loc
from ..sources import ForeignFile
from .assertions import is_known_type
from .files import NotRead, SuiteFiles

Note = Callable[[ForeignFile, Loc, str, str, str], None]
"""Notes something about the file: source, place, kind, reason, advice."""

_COMPACT = re.compile(
    r"(?P<type>(?:not-)?[a-z][a-z0-9:-]*?)(?:\((?P<threshold>[\d.]+)\))?:\s*(?P<value>.*)", re.DOTALL
)
_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")
_BARE = ("is-json", "contains-json", "is-refusal", "is-html", "is-xml", "is-sql", "answer-relevance")
_MOST_DEPTH = 4


@dataclass(frozen=True)
class PromptfooCase:
    """A test as it is written, with its place. `above` are the defaults of the scenario it is in."""

    data: Mapping[str, Any]
    source: ForeignFile
    loc: Loc
    above: Mapping[str, Any]


def cases_of(
    config: Mapping[str, Any], source: ForeignFile, files: SuiteFiles, note: Note
) -> Iterator[PromptfooCase]:
    """Every test of a configuration, also those of its `scenarios`."""
    yield from _cases(config.get("tests"), source, ("tests",), files, note)
    for loc, scenario in _scenarios(config.get("scenarios"), source, files, note):
        yield from _of_scenario(scenario, source, loc, files, note)


def _scenarios(
    value: Any, source: ForeignFile, files: SuiteFiles, note: Note
) -> Iterator[tuple[Loc, Mapping[str, Any]]]:
    for index, one in enumerate(value if isinstance(value, list) else [value] if value else []):
        loc: Loc = ("scenarios", index)
        if isinstance(one, str):
            try:
                found = [item for file in files.sources(one) for item in _as_list(file.data)]
            except NotRead as error:
                note(source, loc, "scenarios that aren't read", f"{one}: {error}", "")
                continue
            yield from ((loc, item) for item in found if isinstance(item, Mapping))
        elif isinstance(one, Mapping):
            yield loc, one
        else:
            note(source, loc, "unknown form", "a scenario is a mapping with `config` and `tests`", "")


def _of_scenario(
    scenario: Mapping[str, Any], source: ForeignFile, loc: Loc, files: SuiteFiles, note: Note
) -> Iterator[PromptfooCase]:
    """Each set of data in `config` with each of the tests."""
    for key in scenario.keys() - {"config", "tests", "description"}:
        note(source, (*loc, key), "unknown key", f"`{key}` isn't a known key of a scenario", "")
    above = [
        case.data for case in _cases(scenario.get("config") or [{}], source, (*loc, "config"), files, note)
    ]
    tests = list(_cases(scenario.get("tests") or [{}], source, (*loc, "tests"), files, note))
    for data, test in product(above, tests):
        yield PromptfooCase(test.data, test.source, test.loc, data)


def _cases(
    value: Any, source: ForeignFile, loc: Loc, files: SuiteFiles, note: Note, depth: int = 0
) -> Iterator[PromptfooCase]:
    if isinstance(value, Mapping) and isinstance(value.get("path"), str):
        value = value["path"]  # with a `config` for code that makes tests, which isn't run
    if isinstance(value, str):
        yield from _in_files(value, source, loc, files, note, depth)
        return
    rows = _as_list(value)
    for index, one in enumerate(rows):
        place: Loc = (*loc, index) if isinstance(value, list) else loc
        if isinstance(one, str):
            yield from _in_files(one, source, place, files, note, depth)
        elif isinstance(one, Mapping):
            yield PromptfooCase(one, source, place, {})
        else:
            note(source, place, "unknown form", "a test is a mapping, or `file://` with the tests in it", "")


def _in_files(
    reference: str, source: ForeignFile, loc: Loc, files: SuiteFiles, note: Note, depth: int
) -> Iterator[PromptfooCase]:
    try:
        found = files.sources(reference) if depth < _MOST_DEPTH else []
    except NotRead as error:
        advice = "export the tests to a CSV, JSON or YAML file beside the configuration"
        note(source, loc, "tests that aren't read", f"{reference[:200]}: {error}", advice)
        return
    for file in found:
        yield from cases_in(file, files, note, depth + 1)


def cases_in(file: ForeignFile, files: SuiteFiles, note: Note, depth: int = 0) -> Iterator[PromptfooCase]:
    """The tests of a file that has nothing else in it."""
    if file.path.suffix.lower() == ".csv":
        for index, row in enumerate(file.data):
            yield PromptfooCase(_from_row(row), file, (index,), {})
    else:
        data = file.data.get("tests", file.data) if isinstance(file.data, Mapping) else file.data
        yield from _cases(data, file, (), files, note, depth)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _from_row(row: Mapping[str, str]) -> dict[str, Any]:
    """A row of a table: variables, and columns that begin with `__`."""
    test: dict[str, Any] = {"vars": {}}
    options: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for column, cell in row.items():
        if not column.startswith("__"):
            test["vars"][column] = cell
        elif column.startswith("__expected") and cell.strip():
            test.setdefault("assert", []).append(from_words(cell))
        elif column.startswith("__metadata:"):
            name = column.removeprefix("__metadata:")
            metadata[name.removesuffix("[]")] = cell.split(",") if name.endswith("[]") else cell
        elif column in ("__prefix", "__suffix"):
            options[column[2:]] = cell
        elif column in ("__description", "__threshold"):
            test[column[2:]] = cell
        elif cell.strip() and not column.startswith("__expected"):
            test[column] = cell
    return {
        **test,
        **({"options": options} if options else {}),
        **({"metadata": metadata} if metadata else {}),
    }


def from_words(text: str) -> dict[str, Any]:
    """An assertion in the form of tables: `contains: Oslo`, `similar(0.8): …`, or the answer itself."""
    words = text.strip()
    if words.startswith(("fn:", "eval:")):
        return {"type": "javascript", "value": words.partition(":")[2].strip()}
    if words.startswith("grade:"):
        return {"type": "llm-rubric", "value": words.removeprefix("grade:").strip()}
    if words in _BARE or words.removeprefix("not-") in _BARE:
        return {"type": words}
    match = _COMPACT.fullmatch(words)
    if match is None or not is_known_type(match["type"]):
        return {"type": "equals", "value": words}
    kind, value = match["type"], match["value"].strip()
    found: dict[str, Any] = {"type": kind, "value": value}
    if kind.removeprefix("not-") in _LISTS:
        found["value"] = [part.strip().strip('"') for part in re.findall(r'"[^"]*"|[^,]+', value)]
    threshold = match["threshold"] or (value if kind in ("latency", "cost") else None)
    return {**found, **({"threshold": _number(threshold)} if threshold else {})}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
