"""Writes metrics into a `benchmark.yaml` that somebody keeps by hand.

Only what is missing is put into the text: every other character stays as it is, comments, quotes and
line ends included. The result is read again before the file is replaced: if it says anything but the old
file and the new metrics, the file is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ...errors import Problem, SettingsError
from ...files import locked, read_file, shown_path, write_atomically
from ...yaml_source import Document, parse
from .definition import metric_id, read_document
from .models import Metric
from .yaml_spans import LINE_BREAK, Node, node_tree
from .yaml_writing import block, inline

Edit = tuple[int, int, str]
"""From and to which character what is put instead."""

_BOM = "\ufeff"
_DASH = re.compile(r"^( *)-(?=\s)", re.MULTILINE)
_STARTER = """\
# What is tested: behaviours that an assistant should show, or should not.
{head}
scenario:
  # Who the users are, and where they talk with the assistant.
  user_context: {context}

# When it passes as a test under pytest: which share of each metric's conversations must.
# gate: {{min_pass_rate: 0.8, max_group_gap: 0.2}}

# Each metric is one behaviour that can be seen in a conversation. `type: negative` is one that should not
# be there: its definition describes the bad behaviour. What is missing is written by
# `convoprobe bench gen-metrics`; what is here is kept.
metrics: []
"""


def set_metrics(path: Path, metrics: Sequence[Metric]) -> None:
    """Fill in what the file's own metrics lack, by id, and append those that it doesn't have.

    To be called while nobody else writes in the folder. Raises `SettingsError` if the file can't be read,
    or if its way of writing has no place for them.
    """
    # A symlink stays one: the file that it points to is replaced.
    path = path.resolve()
    document = read_document(path)
    new = [_as_data(metric) for metric in metrics]
    text = document.content
    changed = _Writer(text, document.value).with_metrics(new)
    if changed == text:
        return
    # Edits of text can go wrong in ways that nobody thinks of. This one check sees all of them.
    _require_same(changed, _expected(document.value, new), document, shown_path(path))
    # The parser drops it, and an editor that wrote it may need it.
    mark = _BOM if read_file(path).startswith(_BOM.encode()) else ""
    write_atomically(path, f"{mark}{changed}".encode())


def new_benchmark(path: Path, name: str, description: str, user_context: str = "") -> None:
    """A file to start from. Raises `SettingsError` if there is one."""
    if path.exists():
        raise SettingsError.of("there is a benchmark already; it was left as it is", file=shown_path(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    head = block({"name": name, "description": description}, 0)
    text = _STARTER.format(head=head, context=inline(user_context))
    with locked(path.parent):
        write_atomically(path, text.encode())


def _as_data(metric: Metric) -> dict[str, Any]:
    """The fields that are set, in the order of a file."""
    data = {
        "id": metric.id,
        "name": metric.name,
        "type": metric.type.value,
        "definition": metric.definition,
        "examples": list(metric.examples),
    }
    return {key: value for key, value in data.items() if _is_set(value)}


def _is_set(value: Any) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def _lacking(item: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in new.items() if not _is_set(item.get(key))}


def _expected(data: dict[str, Any], new: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the file is to say afterwards."""
    by_id = {item["id"]: item for item in new}
    kept = [
        {**item, **_lacking(item, by_id.pop(metric_id(item, index), {}))} if isinstance(item, dict) else item
        for index, item in enumerate(data.get("metrics") or ())
    ]
    return {**data, "metrics": [*kept, *by_id.values()]}


def _require_same(changed: str, expected: Any, document: Document, file: str) -> None:
    parsed = parse(changed, file)
    if not parsed.problems and len(parsed.documents) == 1 and parsed.documents[0].value == expected:
        return
    message = (
        "metrics cannot be put in here without changing something else; "
        "write them one below another, each beginning with `- id:`, without aliases"
    )
    problem = document.problem(("metrics",), message, at_key=True)
    raise SettingsError(
        (Problem(message, file, problem.line, problem.column, "metrics", problem.source_line),)
    )


class _Writer:
    """The edits that put metrics into one text."""

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        self._text = text
        self._data = data
        self._root = node_tree(text)
        found = LINE_BREAK.search(text)
        self._break = found[0] if found else "\n"

    def with_metrics(self, new: Sequence[dict[str, Any]]) -> str:
        edits = sorted(self._edits({item["id"]: item for item in new}), key=lambda edit: edit[0])
        pieces: list[str] = []
        done = 0
        for start, end, instead in edits:
            pieces += (self._text[done:start], instead.replace("\n", self._break))
            done = end
        return "".join((*pieces, self._text[done:]))

    def _edits(self, new: dict[str, dict[str, Any]]) -> Iterator[Edit]:
        given = self._data.get("metrics")
        node = self._root.child("metrics")
        if not given:
            yield from self._fill(self._root, {}, {"metrics": list(new.values())} if new else {})
            return
        items = node.items if node is not None else ()
        for index, (item, place) in enumerate(zip(given, items, strict=False)):
            own = new.pop(metric_id(item, index), {})
            yield from self._fill(place, item, _lacking(item, own) if isinstance(item, dict) else {})
        if new and node is not None:
            yield self._append(node, list(new.values()))

    def _fill(self, mapping: Node, item: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[Edit]:
        """Give a mapping fields that it has no value for."""
        there = {key: node for key in fields if (node := mapping.child(key)) is not None}
        for key, node in there.items():
            yield from self._instead(mapping, node, key, fields[key])
        missing = {key: value for key, value in fields.items() if key not in there}
        if "id" in missing and mapping.items:
            yield self._in_front(mapping, {"id": missing.pop("id")})
        if missing:
            yield self._behind(mapping, missing)

    def _instead(self, mapping: Node, node: Node, key: str, value: Any) -> Iterator[Edit]:
        """Put a value where there is an empty one: `definition:`, `examples: []`."""
        start = len(self._text[: node.start].rstrip(" "))
        if mapping.flow:
            yield start, node.end, f" {inline(value)}"
            return
        line_end = self._line_end(node.end)
        written = block({key: value}, self._column(mapping)).lstrip(" ").removeprefix(f"{key}:")
        if written.startswith("\n"):
            yield start, node.end, ""
            yield line_end, line_end, written
        elif self._text[node.end : line_end].strip():  # a comment: what follows it can't be on several lines
            yield start, node.end, f" {inline(value)}"
        else:
            yield start, node.end, written

    def _in_front(self, mapping: Node, fields: dict[str, Any]) -> Edit:
        at = mapping.items[0].start
        if mapping.flow:
            return at, at, f"{_without_brackets(fields)}, "
        return at, at, f"{block(fields, 0)}\n{' ' * self._column(mapping)}"

    def _behind(self, mapping: Node, fields: dict[str, Any]) -> Edit:
        if mapping.flow:
            return self._within(mapping, _without_brackets(fields))
        return self._below(mapping, block(fields, self._column(mapping)))

    def _append(self, sequence: Node, new: list[dict[str, Any]]) -> Edit:
        if sequence.flow:
            return self._within(sequence, _without_brackets(new))
        last = sequence.items[-1].start if sequence.items else sequence.start
        indents = [len(match[1]) for match in _DASH.finditer(self._text, 0, last)]
        indent = indents[-1] if indents else 0
        space = "\n\n" if self._has_space(sequence) else "\n"
        written = space.join(block([item], indent) for item in new)
        return self._below(sequence, written, space)

    def _has_space(self, sequence: Node) -> bool:
        """Whether there are empty lines between the items."""
        if len(sequence.items) < 2:
            return False
        between = self._text[sequence.items[-2].tail : sequence.items[-1].start]
        return any(not line.strip() for line in LINE_BREAK.split(between)[1:-1])

    def _within(self, node: Node, written: str) -> Edit:
        """Behind the last part of what is in brackets."""
        if node.items:
            at = node.items[-1].tail
            return at, at, f", {written}"
        at = node.start + re.search(r"[\[{]", self._text[node.start :]).end()  # type: ignore[union-attr]
        return at, at, written

    def _below(self, node: Node, written: str, before: str = "\n") -> Edit:
        """On lines of their own, below the last part of a block."""
        at = node.tail
        if at and LINE_BREAK.fullmatch(self._text[at - 1]):
            return at, at, f"{written}\n"
        at = self._line_end(at)
        return at, at, f"{before}{written}"

    def _line_end(self, at: int) -> int:
        found = LINE_BREAK.search(self._text, at)
        return found.start() if found else len(self._text)

    def _column(self, mapping: Node) -> int:
        start = mapping.items[0].start if mapping.items else mapping.start
        breaks: Iterable[re.Match[str]] = LINE_BREAK.finditer(self._text, 0, start)
        return start - max(chain((0,), (match.end() for match in breaks)))


def _without_brackets(value: Any) -> str:
    return inline(value)[1:-1]
