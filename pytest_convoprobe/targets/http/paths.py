"""JMESPath in answers: what a path finds, and whether the answer says anything there at all.

JMESPath doesn't distinguish the two. A misspelt key gives null, and behind a projection
(`messages[].toolz[]`) an empty list: what isn't there looks like what is there and empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult
from jmespath.visitor import TreeInterpreter

from ...errors import SettingsError

_CHAINS = frozenset({"subexpression", "index_expression", "pipe"})
_PROJECTIONS = frozenset({"projection", "value_projection"})
_MOST_KEYS = 12

# One for all paths: `search` makes another one each time, and a stream has thousands of events.
_INTERPRETER = TreeInterpreter()

PathNode = Any
"""A node of JMESPath's syntax tree, a dict of its own kind: `type`, `children`, and `value` for a leaf."""


class AnswerPath:
    """One path of the settings. Raises `SettingsError` if it can't be read."""

    def __init__(self, path: str, key: str) -> None:
        self.path = path
        try:
            self._compiled: ParsedResult = jmespath.compile(path)
        except JMESPathError as error:
            reason = " ".join(str(error).split())
            raise SettingsError.of(f"`{path}` is not a JMESPath expression: {reason}", path=key) from None
        self._is_conditional = _gives_a_value_on_condition(self._compiled.parsed)

    def find(self, data: Any) -> Any:
        """What is at the path; None if the answer says nothing there.

        Raises `ValueError` for a path that doesn't fit the answer.
        """
        found = self.look_up(data)
        # `type == 'delta' && text` gives false where the condition doesn't hold.
        return None if found is False and self._is_conditional else found

    def look_up(self, data: Any) -> Any:
        """The same with false for a condition that doesn't hold."""
        try:
            found = _INTERPRETER.visit(self._compiled.parsed, data)
            # Only an empty list can be the remains of a projection without a match.
            return None if found == [] and not _says(self._compiled.parsed, data) else found
        except JMESPathError as error:
            raise ValueError(f"a JMESPath doesn't fit the answer: {error}") from None


def _gives_a_value_on_condition(node: PathNode) -> bool:
    """Whether false means that a condition doesn't hold: the path is `condition && value`, or several."""
    kind, children = node["type"], node["children"]
    if kind == "and_expression":
        return children[1]["type"] not in ("comparator", "not_expression", "literal")
    return kind in ("or_expression", "pipe") and any(map(_gives_a_value_on_condition, children))


def keys_in(data: Any) -> str:
    """The paths that an answer has, for a message: `answer.text, answer.tools`."""
    found = list(_paths(data))
    if not found:
        return "nothing with a name"
    more = f" and {len(found) - _MOST_KEYS} more" if len(found) > _MOST_KEYS else ""
    return f"{', '.join(f'`{path}`' for path in found[:_MOST_KEYS])}{more}"


def _paths(data: Any, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Paths down to three levels; of a list, those of its first item."""
    if isinstance(data, list) and data and depth < 3:
        yield from _paths(data[0], f"{prefix}[0]", depth)
    elif isinstance(data, dict) and data and depth < 3:
        for name, value in data.items():
            yield from _paths(value, f"{prefix}.{name}" if prefix else str(name), depth + 1)
    elif prefix:
        yield prefix


def _says(node: PathNode, data: Any) -> bool:
    """Whether the data has anything, be it an empty list, where the node looks."""
    kind, children = node["type"], node["children"]
    if kind in _CHAINS:
        *before, last = children
        for child in before:
            if not _says(child, data):
                return False
            data = _search(child, data)
        return _says(last, data)
    if kind in ("or_expression", "multi_select_list"):
        return any(_says(child, data) for child in children)
    if kind == "and_expression":
        return _says(children[1], data) and _search(node, data) is not False
    if kind == "flatten":
        return _says(children[0], data)
    if kind in _PROJECTIONS:
        return _some_item_says(children[0], children[1], data)
    if kind == "filter_projection":
        return _filtered_says(node, data)
    return _search(node, data) is not None


def _some_item_says(left: PathNode, right: PathNode, data: Any) -> bool:
    base = _search(left, data)
    items = list(base.values()) if isinstance(base, dict) else base
    if not isinstance(items, list) or not _says(left, data):
        return False
    return not items or any(_says(right, item) for item in items)


def _filtered_says(node: PathNode, data: Any) -> bool:
    """A filter without a match finds none, if its own keys are in the items."""
    left, right, condition = node["children"]
    items = _search(left, data)
    if not isinstance(items, list):
        return False
    chosen = [item for item in items if _search(condition, item)]
    if chosen:
        return any(_says(right, item) for item in chosen)
    keys = [
        child for child in condition["children"] if child["type"] not in ("literal", "function_expression")
    ]
    return not items or any(all(_search(key, item) is not None for key in keys) for item in items)


def _search(node: PathNode, data: Any) -> Any:
    return _INTERPRETER.visit(node, data)
