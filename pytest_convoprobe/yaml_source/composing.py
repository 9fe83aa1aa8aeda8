"""One graph of nodes from several files: `!include` in the place of a value, `extends` at the top.

All later work (values, limits, places) is done on that graph, so it is the same for a document of one file
and for one of many. An included file is composed once, and its nodes are shared by all that include it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..errors import Problem
from ..formatting import counted
from ..problems import Inclusion
from ..suggest import did_you_mean
from .document import Loc, dotted
from .included_files import CannotInclude, IncludedFile, IncludedFiles
from .merging import MAX_PARTS, MappingEntry, Merger, TooManyParts, entries_of
from .nodes import roots_of
from .text import Text
from .yaml_places import Chain, NodePath, Origins, find

INCLUDE = "!include"
EXTENDS = "extends"
MAX_OPEN = 20
"""How many files may include each other in a row."""

_NULL = "tag:yaml.org,2002:null"
_HOW = "write `!include _persona.yaml`, or `!include _shared.yaml#personas.hurried` for a part of a file"
_SAME_FILE = "for a part of the same file, use an anchor (`&name`) and an alias (`*name`)"


@dataclass(frozen=True)
class _Open:
    """A file that is being put together, and how it came to that."""

    file: IncludedFile
    chain: Chain = ()
    line_offset: int = 0

    def place(self, node: Node) -> Inclusion:
        """Where in the file a node is."""
        return Inclusion(self.file.name, node.start_mark.line + 1 + self.line_offset)


class Composer:
    """Puts together the documents of one file; what is wrong is added to `problems`."""

    def __init__(self, files: IncludedFiles, text: Text, problems: list[Problem]) -> None:
        self.origins = Origins()
        self._files = files
        self._problems = problems
        self._first = files.first(text)
        self._open: list[_Open] = []
        self._merger = Merger(self.origins)
        # None for a file that can't be used: what is wrong with it is reported once.
        self._roots: dict[str, Node | None] = {}
        # By the id of the node, which is kept with it: one that has an anchor is in several places.
        self._included: dict[int, tuple[Node, Node]] = {}
        self._broken = 0
        self._too_many = False

    def document(self, root: Node, line_offset: int) -> Node | None:
        """The root of a document of the first file, complete; None if a part of it can't be had."""
        if self._too_many:
            return None
        self._open = [_Open(self._first, (), line_offset)]
        try:
            return self._complete(root)
        except TooManyParts:
            self._too_many = True
            self._open = self._open[:1]
            self._refuse(root, (), f"the included files make more than {MAX_PARTS:,} parts; include less")
            return None

    def _complete(self, root: Node) -> Node | None:
        before = self._broken
        whole = self._extended(self._with_includes(root))
        return whole if self._broken == before else None

    def _refuse(self, node: Node, loc: Loc, message: str) -> None:
        """A problem with a node of the file that is open."""
        self._broken += 1
        now, mark = self._open[-1], node.start_mark
        line = mark.line + 1 + now.line_offset
        self._problems.append(now.file.text.problem(message, line, mark.column + 1, dotted(loc), now.chain))

    # `!include`

    def _with_includes(self, root: Node) -> Node:
        if root.tag == INCLUDE:
            return self._one(root, ())
        waiting: list[tuple[Node, Loc]] = [(root, ())]
        seen: set[int] = set()
        while waiting:
            node, loc = waiting.pop()
            if id(node) not in seen:
                seen.add(id(node))
                # What is included has been completed already.
                waiting += [one for one in _children(node, loc) if one[0].tag != INCLUDE]
                self._fill_in(node, loc)
        return root

    def _fill_in(self, node: Node, loc: Loc) -> None:
        """Put what is included in the place of each tag."""
        if not any(child.tag == INCLUDE for child, _ in _children(node, loc)):
            return
        if isinstance(node, MappingNode):
            node.value = [(key, self._one(value, (*loc, _name(key)))) for key, value in node.value]
        else:
            found = [self._items(item, (*loc, index)) for index, item in enumerate(node.value)]
            node.value = [item for items in found for item in items]

    def _items(self, node: Node, loc: Loc) -> list[Node]:
        """An item of a list, or all items of the list that is included in its place."""
        found = self._one(node, loc)
        if found is node or not isinstance(found, SequenceNode):
            return [found]
        return [self._merger.enclosed(item, self.origins.chain((found, item))) for item in found.value]

    def _one(self, node: Node, loc: Loc) -> Node:
        """A value, or what is included in its place."""
        if node.tag != INCLUDE:
            return node
        if id(node) not in self._included:
            self._included[id(node)] = node, self._followed(node, loc)
        return self._included[id(node)][1]

    def _followed(self, node: Node, loc: Loc) -> Node:
        """What a tag includes, as a part of this file."""
        found = self._part(node, loc, "`!include`", _HOW)
        if found is None:
            return ScalarNode(_NULL, "", node.start_mark, node.end_mark)
        chain = (*self.origins.chain(found.passed), self._open[-1].place(node))
        return self._merger.enclosed(found.node, chain)

    # `extends`

    def _extended(self, root: Node) -> Node:
        if not isinstance(root, MappingNode):
            return root
        entries = entries_of(root)
        found = [entry for entry in entries if entry.name == EXTENDS]
        if not found:
            return root
        for entry in found[1:]:
            self._refuse(
                entry.key, (EXTENDS,), f"the key `{EXTENDS}` is given twice; give it a list of files"
            )
        own = MappingNode(
            root.tag,
            [(entry.key, entry.value) for entry in entries if entry not in found],
            root.start_mark,
            root.end_mark,
        )
        return self._on_bases(own, found[0])

    def _on_bases(self, own: MappingNode, extends: MappingEntry) -> MappingNode:
        """What a document says itself comes before its last base, and that before the one above it."""
        listed = isinstance(extends.value, SequenceNode)
        references = list(enumerate(extends.value.value)) if listed else [(0, extends.value)]
        if listed and not references:
            self._refuse(extends.value, (EXTENDS,), f"names no file; leave out `{EXTENDS}`")
        found = [
            (node, self._base(node, (EXTENDS, index) if listed else (EXTENDS,))) for index, node in references
        ]
        for node, base in reversed(found):
            if base is not None:
                own = self._merger.merged(base.passed, own, (self._open[-1].place(node),))
        return own

    def _base(self, node: Node, loc: Loc) -> NodePath | None:
        """The mapping that a document extends; None if it can't be had, which has then been said."""
        found = self._part(node, loc, f"`{EXTENDS}`", f"write `{EXTENDS}: _base.yaml`")
        if found is not None and not isinstance(found.node, MappingNode):
            self._refuse(node, loc, f"`{node.value}` isn't a mapping, so nothing can extend it")
            return None
        return found

    # Files

    def _part(self, node: Node, loc: Loc, which: str, how: str) -> NodePath | None:
        """The part of a file that a node names; None if it can't be had, which has then been said."""
        try:
            if not isinstance(node, ScalarNode):
                raise CannotInclude(f"{which} takes the name of a file; {how}")
            name, mark, path = node.value.strip().partition("#")
            if not name:
                raise CannotInclude(f"{which} names no file; {_SAME_FILE if mark else how}")
            file = self._files.find(name, self._open[-1].file)
            root = self._root(file, node)
            if root is not None:
                return _at(root, path, file.name) if mark else find(root, ())
            self._broken += 1
        except CannotInclude as error:
            self._refuse(node, loc, str(error))
        return None

    def _root(self, file: IncludedFile, by: Node) -> Node | None:
        """The complete document of a file, None if it is broken. Raises `CannotInclude`."""
        reals = [one.file.real for one in self._open]
        if file.real in reals:
            names = [one.file.name for one in self._open[reals.index(file.real) :]]
            hint = f"; {_SAME_FILE}" if len(names) == 1 else ""
            raise CannotInclude(f"this is a circle: {' → '.join((*names, file.name))}{hint}")
        if len(self._open) > MAX_OPEN:
            raise CannotInclude(f"more than {MAX_OPEN} files include each other in a row")
        if file.real not in self._roots:
            now = self._open[-1]
            self._open.append(_Open(file, (now.place(by), *now.chain)))
            self._roots[file.real] = None
            self._roots[file.real] = self._read(file)
            self._open.pop()
        return self._roots[file.real]

    def _read(self, file: IncludedFile) -> Node | None:
        problems = list(file.problems)
        self.origins.texts[file.real] = file.text
        roots = [] if problems else roots_of(file.text, problems, file.real)
        if not problems and len(roots) != 1:
            many = (
                f"it has {counted(len(roots), 'document')}; what is included is one"
                if roots
                else "it is empty"
            )
            problems.append(Problem(f"this file can't be included: {many}", file.name, 1, 1))
        chain = self._open[-1].chain
        self._problems += [replace(problem, included_from=chain) for problem in problems]
        return None if problems else self._complete(roots[0][0])


def _children(node: Node, loc: Loc) -> Iterator[tuple[Node, Loc]]:
    if isinstance(node, MappingNode):
        yield from ((value, (*loc, key.value)) for key, value in node.value if isinstance(key, ScalarNode))
    elif isinstance(node, SequenceNode):
        yield from ((item, (*loc, index)) for index, item in enumerate(node.value))


def _name(key: Node) -> str:
    return str(key.value) if isinstance(key, ScalarNode) else "?"


def _at(root: Node, path: str, file: str) -> NodePath:
    """What is at a path such as `personas.hurried` or `criteria.0`. Raises `CannotInclude`."""
    loc: Loc = ()
    for part in path.split("."):
        above = find(root, loc).node
        step = int(part) if isinstance(above, SequenceNode) and part.isdecimal() else part
        loc = (*loc, step)
        found = find(root, loc)
        if not found.whole:
            names = [str(entry.name) for entry in entries_of(above)]
            has = f"; it has {', '.join(names[:10])}" if names else ""
            raise CannotInclude(f"{file} has no `{dotted(loc)}`{did_you_mean(part, names) or has}")
    return found
