"""Nodes of one file as parts of another one: enclosed in it, or merged with what it says itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from .values import MAX_DEPTH
from .yaml_places import MERGE_TAG, Chain, Origins

MAX_PARTS = 200_000
"""How many parts may be taken from other files: lists that include lists of lists can be without measure."""


class TooManyParts(Exception):
    """The files include each other so often that what they make is too large."""


class MappingEntry(NamedTuple):
    """A key and its value. `via` are the mappings between its own and the one that `<<` has it from."""

    key: Node
    value: Node
    via: tuple[Node, ...] = ()

    @property
    def name(self) -> str | None:
        return self.key.value if isinstance(self.key, ScalarNode) else None


class Merger:
    """Makes parts of other files parts of a document, and counts them."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._count = 0

    def enclosed(self, node: Node, chain: Chain) -> Node:
        """The node as a part of another file. Raises `TooManyParts`."""
        self._count += 1
        if self._count > MAX_PARTS:
            raise TooManyParts
        return self._origins.enclose(node, chain)

    def merged(self, base: tuple[Node, ...], own: MappingNode, chain: Chain) -> MappingNode:
        """What `own` says, and what the last node of `base` adds; mappings are merged too.

        `base` are all nodes from its document's root on, `chain` is how that comes into that of `own`.
        """
        theirs = {entry.name: entry for entry in entries_of(base[-1]) if entry.name is not None}
        ours = [self._in_own(own, entry) for entry in entries_of(own)]
        names = {entry.name for entry in ours}
        pairs = [self._from(base, entry, chain) for name, entry in theirs.items() if name not in names]
        for entry in ours:
            other = theirs.get(entry.name or "")
            pairs.append(
                (entry.key, self._of_both(base, other, entry.value, chain) if other else entry.value)
            )
        return MappingNode(own.tag, pairs, own.start_mark, own.end_mark)

    def _of_both(self, base: tuple[Node, ...], other: MappingEntry, value: Node, chain: Chain) -> Node:
        """The value of a key that both have."""
        if not isinstance(value, MappingNode) or not isinstance(other.value, MappingNode):
            return value
        return value if len(base) > MAX_DEPTH else self.merged((*base, *other.via, other.value), value, chain)

    def _from(self, base: tuple[Node, ...], entry: MappingEntry, chain: Chain) -> tuple[Node, Node]:
        above = (*self._origins.chain((*base, *entry.via)), *chain)
        return self._below(entry.key, above), self._below(entry.value, above)

    def _in_own(self, own: MappingNode, entry: MappingEntry) -> MappingEntry:
        """Key and value have to know what their mapping knows, since that won't be on the way to them."""
        above = self._origins.chain((own, *entry.via))
        if not above:
            return entry
        return MappingEntry(self._below(entry.key, above), self._below(entry.value, above))

    def _below(self, node: Node, above: Chain) -> Node:
        """The node, where the mapping that it is in has come by this chain."""
        return self.enclosed(node, (*self._origins.chain((node,)), *above))


def entries_of(node: Node, within: tuple[Node, ...] = ()) -> list[MappingEntry]:
    """The keys and values of a mapping, with those that `<<` merges in; what can't be merged stays."""
    pairs = node.value if isinstance(node, MappingNode) else []
    own = [MappingEntry(key, value) for key, value in pairs if key.tag != MERGE_TAG]
    names = {entry.name for entry in own}
    for key, value in pairs:
        if key.tag == MERGE_TAG:
            sources = value.value if isinstance(value, SequenceNode) else [value]
            can_merge = all(isinstance(one, MappingNode) and one not in (*within, node) for one in sources)
            found = _merged_in(sources, (*within, node)) if can_merge else [MappingEntry(key, value)]
            own += [entry for entry in found if entry.name not in names]
    return own


def _merged_in(sources: Iterable[Node], within: tuple[Node, ...]) -> Iterator[MappingEntry]:
    """The first of several sources with a key has its value."""
    seen: set[str | None] = set()
    for source in sources:
        for entry in entries_of(source, within):
            if entry.name not in seen:
                seen.add(entry.name)
                yield entry._replace(via=(source, *entry.via))
