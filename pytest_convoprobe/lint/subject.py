"""A scenario as the rules see it: with the place of every sentence in its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..judging.criteria import criteria_of
from ..judging.types import Criterion, CriterionKind
from ..scenario.models import Scenario, SyntheticUser
from ..scenario.rules import is_open, script_length
from ..yaml_source import Document, Loc

_IGNORE = re.compile(r"#\s*convoprobe:\s*ignore=([\w\-, ]+)")


@dataclass(frozen=True)
class Sentence:
    """A criterion for the judge, and where it is written."""

    criterion: Criterion
    loc: Loc

    @property
    def text(self) -> str:
        return self.criterion.text

    @property
    def kind(self) -> CriterionKind:
        return self.criterion.kind


@dataclass(frozen=True)
class Subject:
    """One scenario of a file. `id` is the one within the file."""

    id: str
    scenario: Scenario
    document: Document

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Every criterion for the judge, in the order of their ids."""
        evaluation = self.scenario.evaluation
        places = (
            *_listed("correctness_criteria", len(evaluation.correctness_criteria)),
            *_listed("failure_criteria", len(evaluation.failure_criteria)),
            *_of_tools(self.document.value),
        )
        found = zip(criteria_of(evaluation), places, strict=False)
        return tuple(Sentence(criterion, self._at_text(loc)) for criterion, loc in found)

    def _at_text(self, loc: Loc) -> Loc:
        """The place of the words themselves, where a criterion is a mapping."""
        return (*loc, "text") if self.document.has((*loc, "text")) else loc

    @property
    def last_turn(self) -> int:
        """The last turn that the conversation can have."""
        return last_turn_of(self.scenario.synthetic_user)

    def ignores(self, rule: str, file: str, line: int) -> bool:
        """Whether a comment says so: on the line, alone on the one above, or at the head of the scenario."""
        head = _head_of(self.document.content.splitlines(), self.document.first_line)
        lines = self.document.content_of(file).splitlines()
        above = [text for text in lines[max(0, line - 2) : line - 1] if _goes_with_next(text)]
        return any(rule in _ignored(text) for text in (*head, *above, *lines[line - 1 : line]))


def last_turn_of(user: SyntheticUser) -> int:
    """The turn that a script ends with, or else the limit."""
    script = user.script
    open_end = not script or is_open(script[-1])
    return user.max_turns if open_end else script_length(script)


def _listed(key: str, count: int) -> Iterator[Loc]:
    return (("evaluation", key, index) for index in range(count))


def _of_tools(value: Any) -> Iterator[Loc]:
    """The places of the sentences about tools, by the plain data: conditions for code are mappings too."""
    usage = value["evaluation"].get("tool_usage") or {}
    for place, criterion in enumerate(usage.get("tool_call_criteria") or ()):
        for index, assertion in enumerate(criterion.get("assertions") or ()):
            if not isinstance(assertion, Mapping) or "text" in assertion:
                yield "evaluation", "tool_usage", "tool_call_criteria", place, "assertions", index


def _goes_with_next(line: str) -> bool:
    """Whether a comment on it is about the next line too: beside an entry, it is about that one only."""
    return line.lstrip().startswith("#") or line.partition("#")[0].rstrip().endswith(":")


def _head_of(lines: list[str], first_line: int) -> list[str]:
    """The comments directly above the first key of a document."""
    head: list[str] = []
    for line in reversed(lines[: max(0, first_line - 1)]):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        head.append(line)
    return head


def _ignored(line: str) -> set[str]:
    found = _IGNORE.search(line)
    return {word.strip() for word in found[1].split(",")} if found else set()
