"""The results of judging: answers to criteria, results of checks, and the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum

PROHIBITED = "prohibited tool "
"""How the names of checks begin that forbid a tool."""
NO_SUCH_TOOL = "no call; the target has no such tool, so this can't fail"
"""What such a check finds where the target says which tools it has, and this one isn't among them."""


class About(str, Enum):
    """Whose words or deeds a criterion is about. Only these can be quoted as evidence."""

    AGENT = "agent"
    USER = "user"
    TOOL = "tool"
    ANY = "any"


class Shows(str, Enum):
    """Whether a criterion is about something that happens, or about something that doesn't."""

    PRESENCE = "presence"
    ABSENCE = "absence"


class CriterionKind(str, Enum):
    """The list that a criterion comes from."""

    CORRECTNESS = "correctness"
    FAILURE = "failure"
    TOOL = "tool"


@dataclass(frozen=True)
class Criterion:
    """A question for the judge. `id` (`c1`, `f2`, `t1`) identifies it in prompts and replies.

    `opposite` is a sentence that is true where `text` is not. The last three are None until they are known.
    """

    id: str
    kind: CriterionKind
    text: str
    tool: str | None = None
    about: About | None = None
    shows: Shows | None = None
    opposite: str | None = None


@dataclass(frozen=True)
class Vote:
    """One answer to a criterion, where more than one was asked for.

    `asked` says which wording the judge read: the `statement`, or its `opposite`. `answer`, `holds`,
    `finding`, `quote` and `turn` are about the statement in either case, as in `CriterionResult`. `model` is
    the one that was asked.
    """

    answer: str
    holds: bool | None
    finding: str
    quote: str | None = None
    turn: int | None = None
    model: str = ""
    asked: str = "statement"


@dataclass(frozen=True)
class CriterionResult:
    """The judge's answer to one criterion.

    `answer` is the judge's word (`met`, `not_met`, `triggered`, `not_triggered`, `cannot_tell`);
    `holds` is True if that speaks for the agent, False if against it, None if the judge could not
    decide. `quote` is a literal quote from turn `turn`. Both are None if the answer is about
    something that never happens. `votes` are all answers, the first one included, where there was more than
    one; `answer` is what they come to. `score` is what `log_odds` and `contrast` measured, in nats: the
    larger, the truer the criterion's text.
    """

    criterion: Criterion
    answer: str
    holds: bool | None
    finding: str
    quote: str | None = None
    turn: int | None = None
    votes: tuple[Vote, ...] = ()
    score: float | None = None


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


class Severity(str, Enum):
    """How much it matters: with `high`, a provider refuses the tool or a model can't use it rightly."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True)
class Suggestion:
    """What is wrong with a tool of the agent (`issue`), and what to do about it (`suggestion`).

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


@dataclass(frozen=True)
class ToolSuggestions:
    """What the judge's model suggests about the agent's tools, after a conversation that failed.

    `note` says why it gave none, or what of its answer was left out.
    """

    found: tuple[Suggestion, ...] = ()
    note: str = ""
