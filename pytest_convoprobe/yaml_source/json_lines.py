"""JSON Lines as documents: one object on each line, each with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Problem
from ..outside_json import doubled_key
from .document import Document, Loc, dotted
from .parsing import Parsed
from .text import content_of, decode


@dataclass(frozen=True)
class LinePlaces:
    """The places in one line of a file. A key is found as it is written, so one with escapes has none."""

    file: str
    line: int
    content: str

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        return Problem(message, self.file, self.line, self._column(loc, at_key), dotted(loc), self.content)

    def has(self, loc: Loc) -> bool:
        return self._value(loc) is not None

    def written(self, loc: Loc) -> str:
        # JSON has one way to write a value, so nothing is gained by showing how it was written.
        return ""

    def line_of(self, loc: Loc) -> int:
        return self.line

    def _column(self, loc: Loc, at_key: bool) -> int:
        """Where the last key of a path is, or its value; keys are looked for one behind the other."""
        place, column = 0, 1
        for part in loc:
            if not isinstance(part, str):
                continue
            found = re.compile(rf'"{re.escape(part)}"\s*:\s*').search(self.content, place)
            if found is None:
                break
            place, column = found.end(), (found.start() if at_key else found.end()) + 1
        return column

    def _value(self, loc: Loc) -> Any:
        value = json.loads(self.content)
        for part in loc:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def read_json_lines(path: Path, file: str) -> Parsed:
    """Read a file of JSON Lines; one that can't be read is a problem too. `file` is its name in messages."""
    data = content_of(path, file)
    if isinstance(data, Problem):
        return Parsed((), (data,))
    text, problems = decode(data, file)
    found = list(_documents(file, text.content)) if text is not None else []
    documents = tuple(one for one in found if isinstance(one, Document))
    problems += [one for one in found if isinstance(one, Problem)]
    return Parsed(documents, tuple(problems))


def _documents(file: str, content: str) -> Iterator[Document | Problem]:
    # Not `splitlines`: a text in JSON may have a line separator of Unicode as it is.
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            doubled = doubled_key(line)
        except json.JSONDecodeError as error:
            yield Problem(f"the line is not JSON: {error.msg}", file, number, error.colno, "", line)
        except (ValueError, RecursionError) as error:
            yield Problem(f"the line is not JSON: {error}", file, number, 1, "", line)
        else:
            if doubled is not None:
                yield _given_twice(doubled, file, number, line)
                continue
            yield Document(value, LinePlaces(file, number, line), content=line)


def _given_twice(key: str, file: str, number: int, line: str) -> Problem:
    """A key with escapes may be written otherwise than it is found; then the line has to do."""
    column = line.rfind(json.dumps(key, ensure_ascii=False)) + 1
    return Problem(f"the key `{key}` is given twice in this line", file, number, max(column, 1), key, line)
