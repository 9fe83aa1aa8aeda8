"""The results of judging: answers to criteria, results of checks, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

PROHIBITED = "prohibited tool "
"""How the names of checks begin that forbid a tool."""
NO_SUCH_TOOL = "no call; the target has no such tool, so this can't fail"
"""What such a check finds where the target says which tools it has, and this one isn't among them."""


class CriterionKind(str, Enum):
    """The list that a criterion comes from."""

    CORRECTNESS = "correctness"
    FAILURE = "failure"
    TOOL = "tool"


@dataclass(frozen=True)
class Criterion:
    """A question for the judge. `id` (`c1`, `f2`, `t1`) identifies it in prompts and replies."""

    id: str
    kind: CriterionKind
    text: str
    tool: str | None = None


@dataclass(frozen=True)
class CriterionResult:
    """The judge's answer to one criterion.

    `answer` is the judge's word (`met`, `not_met`, `triggered`, `not_triggered`, `cannot_tell`);
    `holds` is True if that speaks for the agent, False if against it, None if the judge could not
    decide. `quote` is a literal quote from turn `turn`. Both are None if the answer is about
    something that never happens.
    """

    criterion: Criterion
    answer: str
    holds: bool | None
    finding: str
    quote: str | None = None
    turn: int | None = None


@dataclass(frozen=True)
class CheckResult:
    """The result of a check in code. `expected` and `found` are for people; `turn` says where."""

    name: str
    holds: bool
    expected: str
    found: str
    turn: int | None = None


@dataclass(frozen=True)
class UserReview:
    """The user's side of a conversation that did not pass.

    `hindered` is what the user did that explains the findings, with the turn; empty if nothing is proven.
    `note` says why there was no usable review. `never_said` are the known facts that no message of the user
    has, by their words.
    """

    hindered: str = ""
    note: str = ""
    never_said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """`passed` is None if nothing speaks against the agent but something could not be decided.

    `score` is the share of criteria and checks that hold, from 0 to 1.
    """

    passed: bool | None
    score: float
