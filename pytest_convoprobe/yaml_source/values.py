"""From YAML's node graph to plain data, noting what these files may not contain.

Only YAML's plain types are built. Dates and `12:30` stay text, as in YAML 1.2: nobody who
writes a criterion or a tool's argument means anything else by them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..formatting import counted
from ..suggest import did_you_mean
from .document import Loc
from .yaml_places import MERGE_TAG

MAX_EXPANDED = 5_000_000
"""The most characters that a document may have once its aliases are written out."""

# People nest some ten levels. Without a limit, a file could use up Python's recursion limit.
MAX_DEPTH = 60
_YAML = "tag:yaml.org,2002:"
_SAFE = SafeConstructor()
_TEXT_TAGS = frozenset(_YAML + name for name in ("str", "timestamp", "value", "merge"))
_COLLECTION_TAGS = frozenset((_YAML + "map", _YAML + "seq"))
_SCALARS: dict[str, Callable[[ScalarNode], Any]] = {
    _YAML + "bool": _SAFE.construct_yaml_bool,
    _YAML + "int": _SAFE.construct_yaml_int,
    _YAML + "float": _SAFE.construct_yaml_float,
    _YAML + "null": _SAFE.construct_yaml_null,
}


class ExpansionError(Exception):
    """Aliases without end, or nesting beyond reason: nothing can be read."""

    def __init__(self, node: Node, loc: Loc, message: str) -> None:
        self.node, self.loc, self.message = node, loc, message
        super().__init__(message)


class Values:
    """Builds the data of one document; `problems` are (node, path, message).

    `tags` are those that have been followed before, so that a misspelt one can be named.
    """

    def __init__(self, tags: Collection[str] = ()) -> None:
        self._tags = tags
        self.problems: list[tuple[Node, Loc, str]] = []
        self._built: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self._weight = 0

    def build(self, node: Node, loc: Loc = ()) -> Any:
        """The data of a node; raises `ExpansionError`."""
        if isinstance(node, ScalarNode):
            self._weigh(len(node.value) + 1, node, loc)
            return self._scalar(node, loc)
        if id(node) in self._built:
            value, weight = self._built[id(node)]
            self._weigh(weight, node, loc)
            return value
        return self._collection(node, loc)

    def _collection(self, node: Node, loc: Loc) -> Any:
        if id(node) in self._open:
            raise ExpansionError(node, loc, "an alias inside of what it refers to: this has no end")
        if len(self._open) >= MAX_DEPTH:
            raise ExpansionError(node, loc, f"nested more than {MAX_DEPTH} levels deep")
        before = self._weight
        self._weigh(1, node, loc)
        self._open.add(id(node))
        if node.tag not in _COLLECTION_TAGS:
            self._refuse_tag(node, loc)
        value = self._mapping(node, loc) if isinstance(node, MappingNode) else self._sequence(node, loc)
        self._open.discard(id(node))
        # An alias adds the weight of what it refers to each time: that is how a small bomb is found.
        self._built[id(node)] = value, self._weight - before
        return value

    def _weigh(self, weight: int, node: Node, loc: Loc) -> None:
        self._weight += weight
        if self._weight > MAX_EXPANDED:
            raise ExpansionError(
                node, loc, f"written out, the aliases make more than {MAX_EXPANDED:,} characters; use fewer"
            )

    def _sequence(self, node: Node, loc: Loc) -> list[Any]:
        return [self.build(item, (*loc, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: MappingNode, loc: Loc) -> dict[str, Any]:
        built: dict[str, Any] = {}
        lines: dict[str, int] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == MERGE_TAG:
                for key, value in self._merge(value_node, loc).items():
                    merged.setdefault(key, value)
            elif isinstance(key_node, ScalarNode) and key_node.tag in _TEXT_TAGS:
                value = self.build(value_node, (*loc, key_node.value))
                self._add(built, lines, key_node, value, loc)
            else:
                self._refuse_key(key_node, loc)
        # A key of its own comes before one that is merged in, wherever in the mapping `<<` is.
        return {**merged, **built}

    def _add(
        self, built: dict[str, Any], lines: dict[str, int], key: ScalarNode, value: Any, loc: Loc
    ) -> None:
        """The first of two equal keys stays: the problem is reported at the second."""
        if key.value not in built:
            built[key.value] = value
            lines[key.value] = key.start_mark.line
            return
        above = key.start_mark.line - lines[key.value]
        where = f"{counted(above, 'line')} above" if above else "on the same line"
        self.problems.append(
            (key, (*loc, key.value), f"the key `{key.value}` is given twice (the first is {where})")
        )

    def _merge(self, node: Node, loc: Loc) -> dict[str, Any]:
        sources = node.value if isinstance(node, SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in sources:
            value = self.build(source, loc)
            if not isinstance(source, MappingNode):
                self.problems.append((source, loc, "`<<` merges mappings only; give it an alias of one"))
                continue
            # The first of several sources wins, as the merge key's specification says.
            merged = {**value, **merged}
        return merged

    def _scalar(self, node: ScalarNode, loc: Loc) -> Any:
        if node.tag in _TEXT_TAGS:
            return node.value
        construct = _SCALARS.get(node.tag)
        if construct is None:
            self._refuse_tag(node, loc)
            return node.value
        # PyYAML reads `12:30` as 750, in base 60.
        if ":" in node.value:
            return node.value
        try:
            return construct(node)
        except (ValueError, KeyError, OverflowError, IndexError):
            kind = node.tag.removeprefix(_YAML)
            self.problems.append((node, loc, f"`{node.value[:40]}` can't be read as {kind}; quote it"))
            return node.value

    def _refuse_tag(self, node: Node, loc: Loc) -> None:
        tag = node.tag.replace(_YAML, "!!")
        hint = did_you_mean(tag, self._tags)
        if not hint and not tag.startswith("!!"):
            hint = "; if it is part of the text, put the text in quotes"
        self.problems.append((node, loc, f"the tag `{tag}` isn't supported here{hint}"))

    def _refuse_key(self, node: Node, loc: Loc) -> None:
        if isinstance(node, ScalarNode):
            what = f"a key must be text, but YAML reads `{node.value}` as {_kind(node)}"
            self.problems.append((node, loc, f'{what}; quote it: "{node.value}"'))
        else:
            kind = "a mapping" if isinstance(node, MappingNode) else "a list"
            self.problems.append((node, loc, f"a key must be text, got {kind}; put it in quotes"))


def _kind(node: ScalarNode) -> str:
    names = {"bool": "a boolean", "int": "a number", "float": "a number", "null": "nothing (null)"}
    return names.get(node.tag.removeprefix(_YAML), f"`{node.tag}`")
