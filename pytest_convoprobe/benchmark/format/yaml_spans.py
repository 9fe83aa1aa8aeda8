"""Where the parts of a YAML text begin and end, to the character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_BLOCK_SCALARS = ("|", ">")
# The one that files are read with. It takes texts that the other one refuses (`[What else?]`), but counts
# white space behind a value as a part of it now and then.
_READER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Node:
    """A value, or an alias of one, from its first character to behind its last.

    `items` are a list's items, or a mapping's keys and values in turn. `flow`: it is written in brackets.
    """

    start: int
    end: int
    items: tuple[Node, ...] = ()
    flow: bool = False
    text: str | None = None
    is_mapping: bool = False

    @property
    def tail(self) -> int:
        """The end without what may follow the last part of a block: empty lines, comments."""
        return self.items[-1].tail if self.items and not self.flow else self.end

    def child(self, key: str) -> Node | None:
        """The value of a key of the mapping itself, merged ones left out."""
        pairs = zip(self.items[::2], self.items[1::2], strict=True) if self.is_mapping else ()
        return next((value for name, value in pairs if name.text == key), None)


def node_tree(text: str) -> Node:
    """The root of the only document of a text that is known to be valid."""
    try:
        return _tree(text, yaml.SafeLoader)
    except yaml.YAMLError:
        return _tree(text, _READER)


def _tree(text: str, loader: Any) -> Node:
    events = yaml.parse(text, Loader=loader)
    root = next(event for event in events if isinstance(event, yaml.NodeEvent))
    return _node(root, events, text)


def _node(event: Any, events: Iterator[Any], text: str) -> Node:
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, yaml.ScalarEvent):
        return Node(start, _scalar_end(event, text), text=event.value)
    if not isinstance(event, yaml.CollectionStartEvent):
        return Node(start, end)
    items: list[Node] = []
    while not isinstance(last := next(events), yaml.CollectionEndEvent):
        items.append(_node(last, events, text))
    mapping = isinstance(event, yaml.MappingStartEvent)
    end = last.end_mark.index if last.end_mark else end
    return Node(start, end, tuple(items), bool(event.flow_style), is_mapping=mapping)


def _scalar_end(event: Any, text: str) -> int:
    """Empty lines below `|` belong to it only if it keeps them (`|+`)."""
    start, end = event.start_mark.index, event.end_mark.index
    written = text[start:end]
    header = LINE_BREAK.split(written)[0]
    if event.style not in _BLOCK_SCALARS or "+" in header.partition("#")[0]:
        return int(end)
    return int(start) + len(written.rstrip())
