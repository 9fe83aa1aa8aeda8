"""Where the parts of a YAML document are, to the character."""

from __future__ import annotations

from dataclasses import dataclass

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..errors import Problem
from .document import Loc, dotted
from .text import Text

MERGE_TAG = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class YamlPlaces:
    """The places of one document. `line_offset` lines of the file are before the text that was parsed."""

    root: Node
    text: Text
    line_offset: int = 0

    @property
    def file(self) -> str:
        return self.text.file

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        key, value = self._find(loc)
        node = key if at_key and key is not None else value
        return self.problem_at(node, message, loc)

    def problem_at(self, node: Node, message: str, loc: Loc) -> Problem:
        """A problem with a node of this document."""
        return self.text.problem(message, self._line(node), node.start_mark.column + 1, dotted(loc))

    def has(self, loc: Loc) -> bool:
        node: Node | None = self.root
        for part in loc:
            node = _child(node, part)[1] if node is not None else None
        return node is not None

    def written(self, loc: Loc) -> str:
        node = self._find(loc)[1]
        return node.value if isinstance(node, ScalarNode) else ""

    def line_of(self, loc: Loc) -> int:
        key, value = self._find(loc)
        return self._line(value if key is None else key)

    def _line(self, node: Node) -> int:
        return int(node.start_mark.line) + 1 + self.line_offset

    def _find(self, loc: Loc) -> tuple[Node | None, Node]:
        key, node = None, self.root
        for part in loc:
            found_key, child = _child(node, part)
            if child is None:
                break
            key, node = found_key, child
        return key, node


def _child(node: Node, part: str | int) -> tuple[Node | None, Node | None]:
    """The key node and value node of one step, None where there is no such step."""
    if isinstance(node, SequenceNode) and isinstance(part, int):
        return (node.value[part], node.value[part]) if part < len(node.value) else (None, None)
    if not isinstance(node, MappingNode):
        return None, None
    for key, value in node.value:
        if isinstance(key, ScalarNode) and key.value == part and key.tag != MERGE_TAG:
            return key, value
    return _merged_child(node, part)


def _merged_child(node: MappingNode, part: str | int) -> tuple[Node | None, Node | None]:
    for key, value in node.value:
        if key.tag != MERGE_TAG:
            continue
        for source in value.value if isinstance(value, SequenceNode) else (value,):
            found = _child(source, part)
            if found[1] is not None:
                return found
    return None, None
