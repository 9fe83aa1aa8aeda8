"""The descriptions of a target's tools, stored with each run, and what is different between two of them.

A run's folder has a file for each set of tools that its targets had, named by the fingerprint that trials
have as `target_tools`: `tools-1a2b….json`, a list of `{"name", "description", "parameters"}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..formatting import counted
from ..llm.port import ToolSpec
from ..text import one_line, visible

_DIGEST = re.compile(r"[0-9a-f]{16}")
_MOST_NAMED = 4
_LARGEST = 8_000_000

ToolRecord = Mapping[str, Any]


def tools_file(digest: str) -> str:
    """The name of the file with these tools. Raises `ValueError` for what is not a fingerprint."""
    # It comes out of files that anybody may have written, and becomes a path.
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"{digest!r} is not a fingerprint")
    return f"tools-{digest}.json"


def tool_records(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """The tools as plain data, in the order of their names."""
    records = [
        {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        for tool in tools
    ]
    return sorted(records, key=lambda record: str(record["name"]))


class ToolSchemas:
    """The tools that were stored with some runs; `folders` are the runs' own."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(folders)
        self._read: dict[str, list[ToolRecord] | None] = {}

    def tools(self, digest: str) -> list[ToolRecord] | None:
        """The tools of a fingerprint; None if no run has them in a form that can be read."""
        if digest not in self._read:
            self._read[digest] = next(self._found(digest), None)
        return self._read[digest]

    def _found(self, digest: str) -> Iterator[list[ToolRecord]]:
        for folder in self._folders:
            try:
                file = folder / tools_file(digest)
                data = json.loads(file.read_bytes()) if file.stat().st_size <= _LARGEST else None
            except (OSError, ValueError):
                continue  # of an earlier release, or lost: then only the fact of the change is known
            if isinstance(data, list) and all(_is_record(one) for one in data):
                yield data

    def explain(self, before: str, after: str) -> str:
        """` (`lookup` removed, …)`, to follow the words "target's tools"; empty if it isn't known."""
        old, new = self.tools(before), self.tools(after)
        if old is None or new is None:
            return ""
        found = tool_changes(old, new)
        more = [f"{counted(len(found) - _MOST_NAMED, 'more change')}"] if len(found) > _MOST_NAMED else []
        return f" ({'; '.join([*found[:_MOST_NAMED], *more])})" if found else ""


def _is_record(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("description"), str)
        and isinstance(value.get("parameters"), dict)
    )


def tool_changes(old: Sequence[ToolRecord], new: Sequence[ToolRecord]) -> list[str]:
    """``cancel_order`: parameter `reason` added`, tool by tool in the order of their names."""
    before, after = ({tool["name"]: tool for tool in tools} for tools in (old, new))
    return [words for name in sorted({**before, **after}) for words in _tool(name, before, after)]


def _tool(name: str, before: Mapping[str, ToolRecord], after: Mapping[str, ToolRecord]) -> Iterator[str]:
    old, new = before.get(name), after.get(name)
    if old is None or new is None:
        yield f"{_shown(name)} {'added' if old is None else 'removed'}"
        return
    parts = [*_parameters(old["parameters"], new["parameters"])]
    if old["description"] != new["description"]:
        parts.append("description")
    # What is different in a place that has no words of its own is said all the same.
    if not parts and old["parameters"] != new["parameters"]:
        parts.append("schema")
    if parts:
        yield f"{_shown(name)}: {', '.join(parts)}"


def _parameters(old: ToolRecord, new: ToolRecord) -> Iterator[str]:
    before, after = _properties(old), _properties(new)
    for name in sorted({**before, **after}):
        if name not in after or name not in before:
            yield f"parameter {_shown(name)} {'added' if name in after else 'removed'}"
        elif before[name] != after[name]:
            yield f"parameter {_shown(name)}"
    for name in sorted(before.keys() & after.keys()):
        was, now = name in _required(old), name in _required(new)
        if was != now:
            yield f"parameter {_shown(name)} {'required' if now else 'optional'} now"


def _properties(schema: ToolRecord) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: ToolRecord) -> list[Any]:
    found = schema.get("required")
    return found if isinstance(found, list) else []


def _shown(name: str) -> str:
    return f"`{one_line(visible(name))}`"
