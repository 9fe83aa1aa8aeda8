"""Where the parts of a YAML document are, to the character, in its file or in one that it includes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..errors import Problem
from ..problems import Inclusion
from .document import Loc, dotted
from .text import Text

MERGE_TAG = "tag:yaml.org,2002:merge"
Chain = tuple[Inclusion, ...]
"""The way by which a part came into a document: the innermost inclusion first."""


@dataclass
class Origins:
    """Which nodes come from other files. `texts` are these files, under the names that marks have."""

    texts: dict[str, Text] = field(default_factory=dict)
    enclosed: int = 0
    # With the node itself: else another one could get its id.
    _chains: dict[int, tuple[Node, Chain]] = field(default_factory=dict)

    def enclose(self, node: Node, chain: Chain) -> Node:
        """The node as a part of another file: a copy, so that the same node can be included twice."""
        included = copy.copy(node)
        self._chains[id(included)] = (included, chain)
        self.enclosed += 1
        return included

    def chain(self, nodes: Sequence[Node]) -> Chain:
        """How the last of these nodes, each within the one before it, came into the document of the first."""
        chain: Chain = ()
        for node in nodes:
            chain = self._chains.get(id(node), (node, ()))[1] + chain
        return chain


@dataclass(frozen=True)
class NodePath:
    """What is at the end of a path, or as near as one gets: `whole` says whether the path has an end.

    `passed` are all nodes on the way from the root to `node`; a mapping's `key` is not among them.
    """

    key: Node | None
    passed: tuple[Node, ...]
    whole: bool

    @property
    def node(self) -> Node:
        return self.passed[-1]


@dataclass(frozen=True)
class YamlPlaces:
    """The places of one document. `line_offset` lines of the file are before the text that was parsed."""

    root: Node
    text: Text
    line_offset: int = 0
    origins: Origins = field(default_factory=Origins)

    @property
    def file(self) -> str:
        return self.text.file

    @property
    def included(self) -> dict[str, str]:
        """The texts of the files that parts of the document come from, by name."""
        return {text.file: text.content for text in self.origins.texts.values()}

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        found = find(self.root, loc)
        node = found.key if at_key and found.key is not None else found.node
        return self._problem(node, message, loc, found)

    def problem_at(self, node: Node, message: str, loc: Loc) -> Problem:
        """A problem with a node of this document, at `loc` or part of what is there."""
        return self._problem(node, message, loc, find(self.root, loc))

    def has(self, loc: Loc) -> bool:
        return find(self.root, loc).whole

    def written(self, loc: Loc) -> str:
        node = find(self.root, loc).node
        return node.value if isinstance(node, ScalarNode) else ""

    def line_of(self, loc: Loc) -> int:
        found = find(self.root, loc)
        return self._line(found.node if found.key is None else found.key)

    def _problem(self, node: Node, message: str, loc: Loc, found: NodePath) -> Problem:
        chain = self.origins.chain(self._way_to(node, found))
        column = node.start_mark.column + 1
        return self._text(node).problem(message, self._line(node), column, dotted(loc), chain)

    def _way_to(self, node: Node, found: NodePath) -> tuple[Node, ...]:
        """The nodes from the root to one that is at the end of a path, or part of what is there."""
        passed = found.passed
        if node is found.node:
            return passed
        if node is found.key:
            return (*passed[:-1], node)
        # Such as the second of two equal keys: it is written in the mapping, wherever the value comes from.
        text = self._text(node)
        ends = (end for end in range(len(passed), 0, -1) if self._text(passed[end - 1]) is text)
        return (*passed[: next(ends, 0)], node)

    def _text(self, node: Node) -> Text:
        return self.origins.texts.get(node.start_mark.name, self.text)

    def _line(self, node: Node) -> int:
        offset = 0 if node.start_mark.name in self.origins.texts else self.line_offset
        return int(node.start_mark.line) + 1 + offset


def find(root: Node, loc: Loc) -> NodePath:
    """The node at a path, and the way there."""
    key: Node | None = None
    passed: tuple[Node, ...] = (root,)
    for part in loc:
        step = _step(passed[-1], part)
        if step is None:
            return NodePath(key, passed, whole=False)
        key, passed = step[0], (*passed, *step[1])
    return NodePath(key, passed, whole=True)


def _step(node: Node, part: str | int, within: tuple[Node, ...] = ()) -> tuple[Node, tuple[Node, ...]] | None:
    """The key and the value of one step, after what is merged in between; None without such a step."""
    if isinstance(node, SequenceNode) and isinstance(part, int):
        items = node.value[part : part + 1]
        return (items[0], (items[0],)) if items else None
    if not isinstance(node, MappingNode):
        return None
    for key, value in node.value:
        if isinstance(key, ScalarNode) and key.value == part and key.tag != MERGE_TAG:
            return key, (value,)
    # A mapping may be merged into itself, which is reported where its values are built.
    return None if node in within else _merged_step(node, part, within)


def _merged_step(
    node: MappingNode, part: str | int, within: tuple[Node, ...]
) -> tuple[Node, tuple[Node, ...]] | None:
    for key, value in node.value:
        if key.tag != MERGE_TAG:
            continue
        for source in value.value if isinstance(value, SequenceNode) else (value,):
            found = _step(source, part, (*within, node))
            if found is not None:
                return found[0], (source, *found[1])
    return None
