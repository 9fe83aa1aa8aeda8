"""From a file to its documents and its problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import Node, ScalarNode

from ..errors import Problem
from ..files import open_file
from .document import Document
from .syntax import syntax_problem
from .text import MAX_BYTES, Text, decode, too_large
from .values import ExpansionError, Values
from .yaml_places import YamlPlaces

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


@dataclass(frozen=True)
class Parsed:
    """What a file contains: `documents` without the empty ones, and all `problems` in order of place."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def read(path: Path, file: str | None = None) -> Parsed:
    """Read and parse a file; one that can't be read is a problem too. `file` is its name in messages."""
    name = str(path) if file is None else file
    data = content_of(path, name)
    return Parsed((), (data,)) if isinstance(data, Problem) else parse(data, name)


def content_of(path: Path, name: str) -> bytes | Problem:
    """The bytes of a file that people write, or why they can't be had; `name` is the file's in messages."""
    try:
        with open_file(path) as stream:
            data = stream.read(MAX_BYTES + 1)
            size = path.stat().st_size if len(data) > MAX_BYTES else 0
    except IsADirectoryError:
        return Problem("this is a folder, not a file", name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Problem(f"the file can't be read: {reason}", name)
    return Problem(too_large(size), name) if size else data


def parse(data: bytes | str, file: str = "<text>") -> Parsed:
    """Parse the text of a file; `file` is its name in messages."""
    text, problems = decode(data, file)
    if text is None:
        return Parsed((), tuple(problems))
    documents: list[Document] = []
    roots = _roots(text, problems)
    for root, offset in roots[:MAX_DOCUMENTS]:
        values, places = Values(), YamlPlaces(root, text, offset)
        try:
            documents.append(Document(values.build(root), places, content=text.content))
        except ExpansionError as error:
            values.problems.append((error.node, error.loc, error.message))
        problems += [places.problem_at(node, message, loc) for node, loc, message in values.problems]
    if len(roots) > MAX_DOCUMENTS:
        root, offset = roots[MAX_DOCUMENTS]
        message = f"more than {MAX_DOCUMENTS:,} documents; split the file"
        problems.append(YamlPlaces(root, text, offset).problem((), message))
    # Syntax, characters and values are looked at one after the other; people read from the top.
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return Parsed(tuple(documents), tuple(problems))


def _roots(text: Text, problems: list[Problem]) -> list[tuple[Node, int]]:
    """The documents' root nodes, each with the number of lines before its part of the text.

    A parser can't go on after an error of syntax, so the parts of a broken file are then read
    one by one: the problems of the others are reported as well.
    """
    try:
        return [(root, 0) for root in _compose(text.content)]
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


def _compose(content: str) -> list[Node]:
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
