"""Every exception that this package raises on purpose.

::

    ConvoprobeError
    ├── ScenarioFileError          a scenario file that cannot be used; lists every problem
    ├── SettingsError              settings that cannot be used; lists every problem
    │   └── NoTarget               nothing says what to test
    ├── LLMError                   a model could not be had
    │   ├── LLMUnavailable         the network, a 5xx, a 429: worth another attempt
    │   ├── LLMTimeout             an attempt took longer than it may: worth another attempt
    │   └── LLMRejected            the provider said no: a bad key, a bad request, a full context
    ├── StructuredReplyError       a model never gave a reply of the shape it was asked for
    ├── BudgetExceeded             the run has spent what it may
    ├── ReplayMiss                 a call that no recording answers
    │   └── RecordingUnusable      a recording that cannot be read or written
    ├── ResultsError               a stored run that cannot be found or read
    ├── TurnTimeout                one side of a conversation took too long over a turn
    ├── ScenarioTimeout            a whole scenario, judging included, took too long
    ├── ScenarioError              a scenario asks for what this target does not tell
    ├── SimulatorError             the synthetic user went off its rails
    ├── JudgeError                 the judge gave no usable verdict
    └── TargetError                the target gave no reply
        ├── TargetStartError       it could not be loaded, built or reached at the start
        ├── TargetCrashed          the agent's own code raised while it answered
        └── TargetUnavailable      what the agent stands on was away

Each carries the `Blame` that a result built from it gets, so that nobody has to
guess it from a type. Messages are for people and hold no secrets: whoever raises
one has masked it first.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .text import without_commands


class Blame(str, Enum):
    """Who is responsible for an outcome that is not a pass."""

    AGENT = "agent"
    SIMULATOR = "simulator"
    JUDGE = "judge"
    INFRASTRUCTURE = "infrastructure"
    SCENARIO = "scenario"
    BUDGET = "budget"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a file, with the place where it is.

    `line` and `column` count from 1; 0 means that the place is not known.
    `path` is the key's path (`synthetic_user.traits.patience`), empty at the top. `advice` says what to
    do; it may have several lines and holds no text from a file.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    source_line: str = ""
    advice: str = ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        head = _printable(": ".join(part for part in (place, self.path, self.message) if part))
        excerpt = self._excerpt() if self.source_line.strip() else ""
        # A CI system obeys what its log says, and the line may be a stranger's.
        return without_commands("\n".join(part for part in (head, excerpt, self.advice) if part))

    def _excerpt(self) -> str:
        """The offending line, or the part of it around the column, with a caret below it."""
        line = _printable(self.source_line.expandtabs(1).rstrip("\n"))
        start = max(0, self.column - 1 - 60)
        shown = line[start : start + 100]
        before = shown[: max(0, self.column - 1 - start)]
        return f"    {shown}\n    {' ' * sum(map(_width, before))}^"


def _printable(text: str) -> str:
    """One character for one: what could move a terminal's cursor or turn text around becomes `?`."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _width(character: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class ConvoprobeError(Exception):
    """The root: catch this to catch everything that this package raises on purpose."""

    blame: Blame = Blame.INFRASTRUCTURE


class _ProblemsError(ConvoprobeError):
    """An input file with one problem or several."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def __reduce__(self) -> tuple[type[_ProblemsError], tuple[Any, ...]]:
        """How it comes whole from another process: the default would make it of its text."""
        return type(self), (self.problems,)


class ScenarioFileError(_ProblemsError):
    """A scenario file that cannot be used; `problems` has all that is wrong with it."""

    blame = Blame.SCENARIO


class SettingsError(_ProblemsError):
    """Settings that cannot be used; `problems` has all that is wrong with them."""

    blame = Blame.SCENARIO

    @classmethod
    def of(cls, message: str, *, file: str = "", path: str = "") -> SettingsError:
        """One problem without a known line."""
        return cls((Problem(message, file=file, path=path),))


class NoTarget(SettingsError):
    """Nothing says what to test.

    The settings are one way to name a target. Each door has another one, and adds it as `other_way`.
    """

    def __init__(self, other_way: str = "") -> None:
        self.other_way = other_way
        advice = "\n".join(part for part in (NAME_A_TARGET, other_way) if part)
        super().__init__((Problem(_NO_TARGET, advice=advice),))

    def __reduce__(self) -> tuple[type[NoTarget], tuple[str]]:
        return type(self), (self.other_way,)


_NO_TARGET = "convoprobe does not know what to test: no target is named. Name it in convoprobe.yaml:"
NAME_A_TARGET = """\

    target:
      type: python
      object: my_package.agent:answer
"""


class LLMError(ConvoprobeError):
    """A call to a model failed for good.

    `status` is the HTTP status where there was one, `retry_after` the number of
    seconds that the provider asked to wait, `attempts` how many calls were made.
    """

    def __init__(
        self,
        message: str,
        *,
        model: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        attempts: int = 1,
    ) -> None:
        self.message = message
        self.model = model
        self.status = status
        self.retry_after = retry_after
        self.attempts = attempts
        super().__init__(message)


class LLMUnavailable(LLMError):
    """A passing fault: no connection, 408, 409, 429, 5xx, 529. Another attempt may work."""


class LLMTimeout(LLMUnavailable):
    """An attempt was given up after its time limit."""


class LLMRejected(LLMError):
    """A final no: missing or wrong key, unknown model, bad request, context overflow."""


class NoTokenChances(LLMRejected):
    """A provider was asked how likely its tokens are, and didn't tell."""


class StructuredReplyError(ConvoprobeError):
    """A model was asked for JSON of a shape and never gave it.

    `reply` is the whole last text (masked), `truncated` whether it was cut by a limit on tokens.
    """

    def __init__(self, message: str, *, reply: str = "", truncated: bool = False) -> None:
        self.reply = reply
        self.truncated = truncated
        super().__init__(message)


class BudgetExceeded(ConvoprobeError):
    """The run may not spend more; raised before a call, never after one."""

    blame = Blame.BUDGET


class ReplayMiss(ConvoprobeError):
    """`only` replays, and the recording has no answer to this call."""


class RecordingUnusable(ReplayMiss):
    """A recording that cannot be read or written; the message names the file and what to do."""


class ResultsError(ConvoprobeError):
    """A stored run, or a trial of one, that cannot be found or read."""


class TurnTimeout(ConvoprobeError):
    """One side of a conversation took longer over its part of a turn than it may.

    `waited_for` is "synthetic user" or "target", `seconds` how long it was waited for.
    """

    def __init__(self, waited_for: str, *, turn: int, seconds: float) -> None:
        self.waited_for = waited_for
        self.turn = turn
        self.seconds = seconds
        super().__init__(
            f"turn {turn}: waited {seconds:g} s for the {waited_for}, which is all that a turn may take; "
            "raise run.turn_timeout if it needs longer"
        )


class ScenarioTimeout(ConvoprobeError):
    """A scenario, judging included, took longer than `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"the scenario took longer than {seconds:g} s, which is all that one may take; "
            "raise run.scenario_timeout if it needs longer"
        )


class SimulatorError(ConvoprobeError):
    """The synthetic user said what no user would, twice."""

    blame = Blame.SIMULATOR


class JudgeError(ConvoprobeError):
    """The judge gave no verdict that can be used. `reply` is the whole of its last text (masked), if any."""

    blame = Blame.JUDGE

    def __init__(self, message: str, *, reply: str = "") -> None:
        self.reply = reply
        super().__init__(message)


class TargetError(ConvoprobeError):
    """The target gave no reply. `trace` is a short traceback of the user's own code, if any."""

    def __init__(self, message: str, *, trace: str = "") -> None:
        self.trace = trace
        super().__init__(message)


class TargetStartError(TargetError):
    """The target could not be loaded, built or reached before the first message."""


class TargetCrashed(TargetError):
    """The agent's own code raised while it answered: the agent is to blame."""

    blame = Blame.AGENT


class TargetUnavailable(TargetError):
    """Something that the agent stands on was away: a provider, a server, the network.

    Agents in Python may raise it themselves to say so.
    """


class ScenarioError(ConvoprobeError):
    """A scenario asks for what cannot be known with this target (tokens that it never tells)."""

    blame = Blame.SCENARIO
