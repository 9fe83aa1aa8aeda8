"""From a text to YAML's graph of nodes, one root for each document, with the problems of syntax."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import yaml
from yaml.nodes import Node, ScalarNode

from ..errors import Problem
from .syntax import syntax_problem
from .text import Text

MAX_PROBLEMS = 100
"""More than these would not be read by anyone."""

MAX_DOCUMENTS = 1_000
"""The most documents of a file that are looked at."""

MAX_PARTS = 2_000
"""How many parts of a broken file are tried one by one."""

# Several times as fast, but not in every build of PyYAML.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BREAKS = "\n\r\x85\u2028\u2029"
_START = re.compile(f"(?:\\A|(?<=[{_BREAKS}]))---(?=[ \t{_BREAKS}]|\\Z)")


class _NamedText(io.StringIO):
    """A text whose name the marks of its nodes have."""

    def __init__(self, content: str, name: str) -> None:
        super().__init__(content)
        self.name = name


def roots_of(text: Text, problems: list[Problem], name: str = "") -> list[tuple[Node, int]]:
    """The documents' root nodes, each with the number of lines before its part of the text.

    A parser can't go on after an error of syntax, so the parts of a broken file are then read
    one by one: the problems of the others are reported as well. The marks of the nodes have the `name`.
    """
    try:
        return [(root, 0) for root in _compose(_NamedText(text.content, name) if name else text.content)]
    except (yaml.YAMLError, RecursionError) as error:
        whole = syntax_problem(error, text, 0)
    roots: list[tuple[Node, int]] = []
    found: list[Problem] = []
    for part, offset in islice(_parts(text), MAX_PARTS):
        try:
            roots += [(root, offset) for root in _compose(part)]
        except (yaml.YAMLError, RecursionError) as error:
            found.append(syntax_problem(error, text, offset))
        if len(found) >= MAX_PROBLEMS:
            break
    problems += found or [whole]
    return roots


def _compose(content: str | _NamedText) -> list[Node]:
    loader = _Loader(content)
    roots: list[Node] = []
    try:
        while len(roots) <= MAX_DOCUMENTS and loader.check_node():
            root = loader.get_node()
            if not _is_empty(root):
                roots.append(root)
    finally:
        loader.dispose()
    return roots


def _is_empty(root: Node) -> bool:
    """Whether there is nothing, or nothing but comments, between two `---`."""
    return isinstance(root, ScalarNode) and root.value == "" and root.tag.endswith(":null")


def _parts(text: Text) -> Iterator[tuple[str, int]]:
    """The text cut before each `---`, with the number of lines before each part."""
    starts = [match.start() for match in _START.finditer(text.content)]
    bounds = [0, *(start for start in starts if start > 0), len(text.content)]
    line = 0
    for start, end in pairwise(bounds):
        part = text.content[start:end]
        yield part, line
        line += len(Text(text.file, part).lines) - 1
