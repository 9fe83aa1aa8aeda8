"""One thing that would make a tool easier to use rightly."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum


class Severity(str, Enum):
    """How much it matters: with `high`, a provider refuses the tool or a model can't use it rightly."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True)
class Suggestion:
    """What is wrong with a tool (`issue`), and what to do about it (`suggestion`).

    `category` is the id of a rule, or a word that a model chose. `tool` is the tool's name.
    """

    category: str
    tool: str
    issue: str
    suggestion: str
    severity: Severity

    def to_json(self) -> dict[str, str]:
        """Plain data."""
        return {**asdict(self), "severity": self.severity.value}


_ORDER = {severity: place for place, severity in enumerate(Severity)}


def by_severity(found: list[Suggestion]) -> list[Suggestion]:
    """The most serious first, otherwise by tool."""
    return sorted(found, key=lambda one: (_ORDER[one.severity], one.tool, one.category))
