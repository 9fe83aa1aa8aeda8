"""From a labels file to its conversations, or to everything that is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import Problem, ScenarioFileError
from ..scenario.loading import in_order
from ..yaml_source import Document, Parsed, parse, read, read_json_lines
from ..yaml_source.explain import describe, explain
from .labels_format import LabelledConversation

_PARTS = "id, turns and criteria"


@dataclass(frozen=True)
class Labelled:
    """A conversation of a labels file, with the line (from 1) where it begins."""

    conversation: LabelledConversation
    line: int

    @property
    def id(self) -> str:
        return self.conversation.id


@dataclass(frozen=True)
class LabelsFile:
    """A labels file as it was read. `file` is its name in messages, `digest` is of its content."""

    file: str
    digest: str
    conversations: tuple[Labelled, ...]

    @property
    def labels(self) -> int:
        """How many criteria have a truth."""
        return sum(len(one.conversation.criteria) for one in self.conversations)


def load_labels(path: Path, file: str | None = None) -> LabelsFile:
    """The conversations of a file, in its order; `file` is the file's name in messages.

    Raises `ScenarioFileError` with every problem of the file.
    """
    name = str(path) if file is None else file
    return _load(read_json_lines(path, name) if _is_json_lines(path) else read(path, name), name)


def parse_labels(text: str | bytes, file: str = "<text>") -> LabelsFile:
    """The conversations of a YAML text; raises `ScenarioFileError` with every problem of it."""
    return _load(parse(text, file), file)


def _is_json_lines(path: Path) -> bool:
    return path.suffix.lower() == ".jsonl"


def _load(parsed: Parsed, file: str) -> LabelsFile:
    problems, found = list(parsed.problems), []
    for document in parsed.documents:
        try:
            found.append(_conversation(document))
        except ScenarioFileError as error:
            problems += error.problems
    problems += _twice(found, parsed.documents) if not problems else ()
    if not parsed.documents and not problems:
        problems.append(Problem("the file is empty; a labelled conversation is expected", file, 1, 1))
    if problems:
        raise ScenarioFileError(in_order(problems, file))
    return LabelsFile(file, _digest(found), tuple(found))


def _conversation(document: Document) -> Labelled:
    value = document.value
    if not isinstance(value, dict) or not value.keys() & LabelledConversation.model_fields.keys():
        message = f"this isn't a labelled conversation: it is {describe(value)}, and one has {_PARTS}"
        raise ScenarioFileError((document.problem((), message),))
    try:
        return Labelled(LabelledConversation.model_validate(value), document.first_line)
    except ValidationError as error:
        raise ScenarioFileError(tuple(explain(error, document, LabelledConversation))) from None


def _twice(found: list[Labelled], documents: tuple[Document, ...]) -> Iterator[Problem]:
    """Two of one id: their recordings would be one, and a report could not say which is meant."""
    first: dict[str, int] = {}
    for one, document in zip(found, documents, strict=True):
        line = first.setdefault(one.id, one.line)
        if line != one.line:
            message = f"there is a conversation of this id in line {line} already; give each an id of its own"
            yield document.problem(("id",), message)


def _digest(found: list[Labelled]) -> str:
    """Of what the judge is asked and what is true; comments and own data may change."""
    parts: list[Any] = [one.conversation.model_dump_json(exclude={"metadata", "kind"}) for one in found]
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]
