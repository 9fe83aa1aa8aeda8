"""What judging finds: answers to criteria, results of checks, and the verdict over them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CriterionKind(str, Enum):
    """Which list a criterion comes from."""

    CORRECTNESS = "correctness"
    FAILURE = "failure"
    TOOL = "tool"


@dataclass(frozen=True)
class Criterion:
    """A question for the judge. `id` (`c1`, `f2`, `t1`) stands for it in prompts and replies."""

    id: str
    kind: CriterionKind
    text: str
    tool: str | None = None


@dataclass(frozen=True)
class CriterionResult:
    """The judge's answer to one criterion.

    `answer` is the judge's word (`met`, `not_met`, `triggered`, `not_triggered`, `cannot_tell`);
    `holds` is True when that speaks for the agent, False when against it, None when it cannot
    be told. `quote` stands in turn `turn`, word for word; both are None where the answer rests
    on something that never happens.
    """

    criterion: Criterion
    answer: str
    holds: bool | None
    finding: str
    quote: str | None = None
    turn: int | None = None


@dataclass(frozen=True)
class CheckResult:
    """A fact that code decided: `expected` and `found` are for people; `turn` is where it shows."""

    name: str
    holds: bool
    expected: str
    found: str
    turn: int | None = None


@dataclass(frozen=True)
class Verdict:
    """`passed` is None when nothing speaks against the agent but something cannot be told.

    `score` is the share of criteria and checks that hold, from 0 to 1.
    """

    passed: bool | None
    score: float
