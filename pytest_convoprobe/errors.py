"""Every exception that this package raises on purpose.

::

    ConvoprobeError
    ├── ScenarioFileError          a scenario file that cannot be used; lists every problem
    ├── SettingsError              settings that cannot be used; lists every problem
    │   ├── NoTarget               nothing says what to test
    │   └── SeveralTargets         nothing says which one of several targets is meant
    ├── LLMError                   a call to a model failed
    │   ├── LLMUnavailable         the network, a 5xx, a 429: worth another attempt
    │   │   └── LLMTimeout         an attempt took too long: worth another attempt
    │   └── LLMRejected            the provider refused: a bad key, a bad request, a full context
    │       └── NoTokenChances     the provider was asked how likely its tokens are, and did not say
    ├── StructuredReplyError       a model never replied in the requested format
    ├── BudgetExceeded             the budget of the run is used up
    ├── ReplayMiss                 no recording has this call
    │   └── RecordingUnusable      a recording that cannot be read or written
    ├── ResultsError               a stored run that cannot be found or read
    │   └── FolderInUse            another process works in the same benchmark's folder
    ├── TimeLimitExceeded          something took too long
    │   ├── TurnTimeout            one side of a conversation took too long over a turn
    │   ├── ScenarioTimeout        a whole scenario, judging included, took too long
    │   ├── CloseTimeout           the target took too long to be closed
    │   └── HookTimeout            a hook of the project took too long
    ├── LoopLost                   another conversation blocked the event loop of this one for good
    ├── ModelCallRefused           a model call of the agent's own that the gateway can't pass on
    ├── MissingPackage             a scenario asks for what needs a package that isn't installed
    ├── ScenarioError              a scenario asks for what this target does not report
    ├── SimulatorError             the synthetic user left its role
    ├── JudgeError                 the judge gave no usable verdict
    ├── TargetError                the target gave no reply
    │   ├── TargetStartError       it could not be loaded or built, or its answers can't be read
    │   ├── TargetCrashed          the agent's own code raised while it answered
    │   └── TargetUnavailable      something that the agent needs was not available
    └── CancelledFromWithin        code of the user's cancelled the work that it was part of

Exceptions that are not in the tree, because they don't report our trouble or have another library's base::

    ScenarioNotPassed              a verdict on the agent, so nobody may catch it as our trouble
    ├── ScenarioFailed             also an AssertionError: test runners take those for failures
    └── ScenarioErrored            no verdict
    BadValue                       argparse shows the message of its own exceptions only
    UsageProblem                   click shows the message of its own exceptions only
    CommandFailed                  the same, with another exit status
    DecodingError                  a body that isn't packed as its header says; its reader says what it means
    UnusableEnvironment            variables for TLS or a proxy that can't be used; becomes an LLMRejected
    FormatError                    a ValueError of the reader of recordings; becomes RecordingUnusable
    └── LaterVersion               the same, for a file of a later release
    MissingMetadata                a template names metadata that isn't there; becomes a ScenarioError
    NotRead                        what an imported suite names and nobody reads; becomes a note
    BadAnswer                      an answer that no scenario can have; the question is put again
    CannotInclude                  a file that a scenario can't include; becomes a `Problem`
    TooManyParts                   files that include each other too often; becomes a `Problem`
    ExpansionError                 YAML whose aliases have no end; becomes a `Problem`
    NotStarted                     an MCP server's program that can't be run; becomes a TargetStartError
    Closed                         its connection is over; becomes a TargetUnavailable
    NoResult                       its tool failed; becomes the call's error, which the model reads
    Raised                         an exception of the user's code, on its way to whoever called that
    Interrupted                    raised inside code of the user's that has used up its time
    Terminated                     a KeyboardInterrupt: the process got SIGTERM
    UpstreamLost                   a provider of the agent's gave no whole answer; the agent gets the error
    UpstreamRedirects              it sends to another address; becomes a ModelCallRefused
    ProcessLost                    a worker process is gone; its items are done again
    ToolFailed                     what a tool raises under an injected fault: the agent's own code gets it
    └── ToolTimedOut               the same for a timeout
    UnreadableAnswers              a warning of pytest's: answers that count neither way

Classes whose names begin with `_` never leave their module, or are abstract. `tests/test_errors.py` compares
this drawing with the classes.

Each error carries the `Blame` that a result built from it gets, and `remedies`: the settings that may put
it right. Its text names settings (`run.max_cost`), which are the same everywhere; see `remedies.options_for`.
Messages are for people and contain no secrets: whoever raises one has masked it first.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from textwrap import indent
from typing import Any

from .formatting import exact_seconds
from .problems import Problem as Problem
from .transcript import ToolCall, Usage


class Blame(str, Enum):
    """Who is responsible for an outcome that is not a pass."""

    AGENT = "agent"
    SIMULATOR = "simulator"
    JUDGE = "judge"
    INFRASTRUCTURE = "infrastructure"
    SCENARIO = "scenario"
    BUDGET = "budget"
    RECORDING = "recording"


class ConvoprobeError(Exception):
    """The root: catch this to catch everything that this package raises on purpose.

    `remedies` are settings that may put it right, by dotted path, with a value if only one helps:
    `run.max_cost`, `run.replay=record`.
    """

    blame: Blame = Blame.INFRASTRUCTURE
    remedies: tuple[str, ...] = ()


class _ProblemsError(ConvoprobeError):
    """An input file with one problem or several."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        self.remedies = tuple(dict.fromkeys(one for problem in problems for one in problem.remedies))
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
    def of(
        cls, message: str, *, file: str = "", path: str = "", remedies: tuple[str, ...] = ()
    ) -> SettingsError:
        """One problem without a known line."""
        return cls((Problem(message, file=file, path=path, remedies=remedies),))


class NoTarget(SettingsError):
    """Nothing says what to test.

    `file` is where to name a target, and `example` how. Each door has another way: it adds `other_way`.
    """

    def __init__(self, other_way: str = "", file: str = "convoprobe.yaml", example: str = "") -> None:
        self._arguments = (other_way, file, example)
        self.file = file
        message = f"convoprobe does not know what to test: no target is named. Name it in {file}:"
        advice = f"\n{indent(example or _A_TARGET, '    ')}\n{other_way}"
        super().__init__((Problem(message, advice=advice),))

    def __reduce__(self) -> tuple[type[NoTarget], tuple[str, str, str]]:
        return type(self), self._arguments


_A_TARGET = """\
target:
  type: python
  object: my_package.agent:answer
"""


class LLMError(ConvoprobeError):
    """A call to a model failed for good.

    `status` is the HTTP status where there was one, `retry_after` the seconds that the provider asks to wait,
    `attempts` how many calls were made, `cost` what they cost in US dollars (None: not known). `answered`: an
    answer came that cannot be read, and may have to be paid for.
    """

    cost: float | None = None
    answered = False

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
    """An attempt exceeded its time limit."""


class LLMRejected(LLMError):
    """A final refusal: missing or wrong key, unknown model, bad request, context overflow."""


class NoTokenChances(LLMRejected):
    """A provider was asked how likely its tokens are, and did not say."""


class StructuredReplyError(ConvoprobeError):
    """A model never replied with JSON of the requested schema.

    `reply` is its whole last text (masked). `truncated` says whether a token limit cut it.
    """

    def __init__(self, message: str, *, reply: str = "", truncated: bool = False) -> None:
        self.reply = reply
        self.truncated = truncated
        super().__init__(message)


class BudgetExceeded(ConvoprobeError):
    """The budget of the run is used up. Raised before a call, never after one.

    `limit` is the setting that is reached: `run.max_cost` or `run.max_tokens`.
    """

    blame = Blame.BUDGET

    def __init__(self, message: str, *, limit: str = "") -> None:
        self.limit = limit
        self.remedies = (limit,) if limit else ()
        super().__init__(message)


class ReplayMiss(ConvoprobeError):
    """With `run.replay: only`, the recording doesn't have this call: somebody has to record it again."""

    blame = Blame.RECORDING
    remedies: tuple[str, ...] = ("run.replay=record",)


class RecordingUnusable(ReplayMiss):
    """A recording that cannot be read or written; the message names the file and what to do."""

    remedies = ()


class ResultsError(ConvoprobeError):
    """A stored run, or a trial of one, that cannot be found or read."""


class TimeLimitExceeded(ConvoprobeError):
    """Something took too long. `trace` is a short stack of where the project's code was then, if it was."""

    trace = ""

    def located(self, place: str, trace: str, advice: str) -> None:
        """Say where code of the project was when the time was up, and what to do about it."""
        self.trace = trace
        # The place comes first: the line of a short summary is cut off at its end.
        shown = f"{place} did not return in time: {self.args[0]}"
        self.args = (f"{shown}; {advice}" if advice else shown,)


class TurnTimeout(TimeLimitExceeded):
    """One side of a conversation exceeded the time limit of a turn.

    `waited_for` is "synthetic user" or "target"; `seconds` is the limit.
    """

    remedies = ("run.turn_timeout",)

    def __init__(self, waited_for: str, *, turn: int, seconds: float) -> None:
        self.waited_for = waited_for
        self.turn = turn
        self.seconds = seconds
        super().__init__(
            f"turn {turn}: waited {exact_seconds(seconds)} for the {waited_for}, which is all that a turn "
            "may take; raise run.turn_timeout if it needs longer"
        )


class ScenarioTimeout(TimeLimitExceeded):
    """A scenario, judging included, took longer than `seconds`."""

    remedies = ("run.scenario_timeout",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"the scenario took longer than {exact_seconds(seconds)}, which is all that one may take; "
            "raise run.scenario_timeout if it needs longer"
        )


class CloseTimeout(TimeLimitExceeded):
    """A target took longer than `seconds` to be closed; nobody waits for it any more."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"closing took longer than {exact_seconds(seconds)}")


class HookTimeout(TimeLimitExceeded):
    """A hook of the project took longer than `seconds`, the time limit of its scenario."""

    remedies = ("run.scenario_timeout",)

    def __init__(self, hook: str, seconds: float) -> None:
        self.hook = hook
        self.seconds = seconds
        super().__init__(
            f"the hook {hook} took longer than {exact_seconds(seconds)}, the limit of a scenario "
            "(run.scenario_timeout)"
        )


class LoopLost(ConvoprobeError):
    """Another conversation has blocked the event loop that this one shared with it: it is begun again."""

    def __init__(self) -> None:
        super().__init__("code of another conversation blocked the event loop for good")


class ModelCallRefused(ConvoprobeError):
    """The agent called a model, and the gateway could not pass the call on: nobody knows where it belongs.

    What the agent makes of the refusal says nothing about it.
    """


class SimulatorError(ConvoprobeError):
    """The synthetic user left its role twice."""

    blame = Blame.SIMULATOR


class JudgeError(ConvoprobeError):
    """The judge gave no usable verdict. `reply` is its whole last text (masked), if any."""

    blame = Blame.JUDGE

    def __init__(self, message: str, *, reply: str = "") -> None:
        self.reply = reply
        super().__init__(message)


class TargetError(ConvoprobeError):
    """The target gave no reply. `trace` is a short traceback of the user's own code, if any.

    `tool_calls` and `usage` are what it had done for the message by then, as far as it is known.
    """

    def __init__(
        self,
        message: str,
        *,
        trace: str = "",
        tool_calls: Sequence[ToolCall] = (),
        usage: Usage | None = None,
    ) -> None:
        self.trace = trace
        self.tool_calls = tool_calls
        self.usage = usage
        super().__init__(message)


class TargetStartError(TargetError):
    """The target can't be loaded, built, reached or read: it is wired wrongly, whatever the agent is like."""


class TargetCrashed(TargetError):
    """The agent's own code raised an exception: the agent is to blame."""

    blame = Blame.AGENT


class TargetUnavailable(TargetError):
    """Something that the agent needs was not available: a provider, a server, the network.

    Agents in Python may raise it themselves.
    """


class MissingPackage(ConvoprobeError):
    """Something that a scenario asks for needs a package that isn't installed."""


class ScenarioError(ConvoprobeError):
    """A scenario checks something that this target doesn't report, such as tokens, or lacks what it needs.

    `trace` is a short traceback of the project's own check, if that crashed.
    """

    blame = Blame.SCENARIO
    trace = ""
