"""One assertion of promptfoo, with its value read and filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...yaml_source import Loc
from ..building import ScenarioBuilder


@dataclass(frozen=True)
class ForeignCheck:
    """An assertion. `loc` is its place below the test; `whole_talk`: it is about a talk of many turns."""

    type: str
    negated: bool
    value: Any
    threshold: float | None
    loc: Loc
    whole_talk: bool

    @property
    def kind(self) -> str:
        """The type as it is written."""
        return f"not-{self.type}" if self.negated else self.type


Taker = Callable[[ForeignCheck, ScenarioBuilder], None]
"""Takes an assertion over, or notes what becomes of it."""
