"""What lint finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..errors import Problem


class Level(str, Enum):
    """How bad it is: an `error` makes a scenario fail or pass whatever the agent does."""

    ERROR = "error"
    WARNING = "warning"

    def reaches(self, least: Level) -> bool:
        """Whether it is at least as bad."""
        return self is Level.ERROR or least is Level.WARNING


@dataclass(frozen=True)
class LintFinding:
    """One fault: the rule that found it, its place and what is wrong (`problem`), and what to do (`advice`).

    `scenario` is the id of the scenario within its file, empty for a file that can't be read.
    """

    rule: str
    level: Level
    problem: Problem
    advice: str
    scenario: str = ""

    @property
    def at(self) -> tuple[str, str, int, int]:
        """The rule and the place."""
        return self.rule, self.problem.file, self.problem.line, self.problem.column

    def __str__(self) -> str:
        """The place, the level, the rule and the fault, the line of the file, and what to do."""
        return f"{self.problem}\n    {self.level.value} {self.rule}: {self.advice}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rule": self.rule,
            "level": self.level.value,
            "file": self.problem.file,
            "line": self.problem.line,
            "column": self.problem.column,
            "path": self.problem.path,
            "scenario": self.scenario,
            "message": self.problem.message,
            "advice": self.advice,
        }


@dataclass(frozen=True)
class Fault:
    """What a rule says of one scenario: where, what is wrong, and what to do."""

    loc: tuple[str | int, ...]
    message: str
    advice: str
