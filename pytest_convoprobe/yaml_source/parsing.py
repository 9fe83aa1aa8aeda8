"""From a file to its documents and its problems."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from yaml.nodes import Node

from ..errors import Problem
from ..problems import by_place
from .composing import EXTENDS, INCLUDE, Composer
from .document import Document
from .included_files import IncludedFiles
from .nodes import MAX_DOCUMENTS, roots_of
from .text import Text, content_of, decode
from .values import ExpansionError, Values
from .yaml_places import YamlPlaces

_NAMES_OTHERS = re.compile(rf"{EXTENDS}|![<A-Za-z]")


@dataclass(frozen=True)
class Parsed:
    """What a file contains: `documents` without the empty ones, and all `problems` in order of place.

    `files` are the other files that the documents are made of.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...] = ()


def read(path: Path, file: str | None = None, includes: IncludedFiles | None = None) -> Parsed:
    """Read and parse a file; one that can't be read is a problem too. `file` is its name in messages.

    Only with `includes` may it include others.
    """
    name = str(path) if file is None else file
    data = content_of(path, name)
    return Parsed((), (data,)) if isinstance(data, Problem) else parse(data, name, includes)


def parse(data: bytes | str, file: str = "<text>", includes: IncludedFiles | None = None) -> Parsed:
    """Parse the text of a file; `file` and `includes` are as in `read`."""
    text, problems = decode(data, file)
    if text is None:
        return Parsed((), tuple(problems))
    roots = roots_of(text, problems)
    # Most files name no other one, and nothing is to be put together.
    names_others = _NAMES_OTHERS.search(text.content) is not None
    composer = Composer(includes, text, problems) if includes is not None and names_others else None
    documents = [_document(root, text, offset, problems, composer) for root, offset in roots[:MAX_DOCUMENTS]]
    if len(roots) > MAX_DOCUMENTS:
        root, offset = roots[MAX_DOCUMENTS]
        message = f"more than {MAX_DOCUMENTS:,} documents; split the file"
        problems.append(YamlPlaces(root, text, offset).problem((), message))
    # Syntax, characters and values are looked at one after the other; people read from the top.
    problems.sort(key=by_place)
    files = includes.paths if includes is not None else ()
    return Parsed(tuple(one for one in documents if one is not None), tuple(problems), files)


def _document(
    root: Node, text: Text, offset: int, problems: list[Problem], composer: Composer | None
) -> Document | None:
    """One document, or None if it can't be had; what is wrong with it is added to `problems`."""
    complete = composer.document(root, offset) if composer else root
    if complete is None:
        return None
    places = (
        YamlPlaces(complete, text, offset, composer.origins) if composer else YamlPlaces(root, text, offset)
    )
    values, document = Values((INCLUDE,) if composer else ()), None
    try:
        document = Document(values.build(complete), places, content=text.content, included=places.included)
    except ExpansionError as error:
        values.problems.append((error.node, error.loc, error.message))
    problems += [places.problem_at(node, message, loc) for node, loc, message in values.problems]
    return document
