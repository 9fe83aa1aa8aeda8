"""The functions of the project that a scenario names in `evaluation.checks`: found, called, and read."""

from __future__ import annotations

import dis
import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

from ..errors import Blame, ConvoprobeError, ScenarioError, TargetStartError, TimeLimitExceeded
from ..formatting import exact_seconds
from ..judging.own_checks import checks_of_answer
from ..judging.types import CheckResult
from ..project_code.agent_loops import Home
from ..project_code.calls import Raised, in_own_thread
from ..project_code.deadline import Deadline
from ..project_code.tracebacks import clean, describe, own_frames, place_of, short_trace
from ..scenario.loading import LoadedScenario
from ..targets.loading import load_object
from ..targets.port import TargetConversation, WithAgent
from ..text import one_line, shorten
from ..transcript import Transcript
from .check_places import reference_of
from .job import Job

OFFERED = ("scenario", "transcript", "agent", "state")
"""What a check gets, by the names of its parameters."""
_COPIED = frozenset(("scenario", "transcript"))
NO_AGENT = object()
"""Stands for the agent where it isn't an object of this process."""
PREFIX = "check "

Beside = Callable[[Callable[[object], Any]], Awaitable[Any]]
"""Calls a function with the agent, where the agent's own code runs; see `targets.port.WithAgent`."""
Finding = CheckResult | ConvoprobeError
"""The result of a check, or why there is none."""


class _TooLong(TimeLimitExceeded):
    blame = Blame.SCENARIO
    remedies = ("run.turn_timeout",)

    def __init__(self, what: str, seconds: float) -> None:
        limit = f"{exact_seconds(seconds)}, the limit of a turn (run.turn_timeout)"
        super().__init__(f"evaluation.checks: {what} took longer than {limit}")


@dataclass(frozen=True)
class CheckFunction:
    """A function of the project, and which of `OFFERED` it asks for."""

    reference: str
    function: Callable[..., Any]
    asks_for: frozenset[str]

    @property
    def name(self) -> str:
        """What its results are called."""
        return f"{PREFIX}{self.reference}"

    @property
    def needs_end(self) -> bool:
        """Whether it looks at what only is there when the conversation ends."""
        return bool(self.asks_for & {"agent", "state"})

    @property
    def expected(self) -> str:
        """What it is for: the first line of its docstring."""
        first = (inspect.getdoc(self.function) or "").strip().partition("\n")[0]
        return clean(first) if first else "it holds"

    def is_mine(self, check: CheckResult) -> bool:
        """Whether a stored result is one of this function's."""
        return check.name == self.name or check.name.startswith(f"{self.name}: ")


class OwnChecks:
    """The checks of one trial that are functions of the project.

    `agents` is where asynchronous code of the project runs.
    """

    def __init__(self, job: Job, agents: Home) -> None:
        self._job = job
        self._functions: tuple[CheckFunction, ...] = ()
        self._beside: Beside = partial(_without_agent, agents)
        self._limit = job.settings.run.turn_timeout
        self._wanted = bool(job.scenario.evaluation.checks) and job.own_checks

    async def find(self, talking: TargetConversation | None) -> None:
        """Import them, where the agent's code runs. Raises `ScenarioError` for what can't be called.

        `talking` is the target's side of the conversation; None for one that is over.
        """
        if not self._wanted:
            return
        has_agent = isinstance(talking, WithAgent)
        if isinstance(talking, WithAgent):
            self._beside = talking.with_agent
        try:
            async with Deadline(self._limit, _TooLong("to import the checks", self._limit)):
                self._functions = await self._beside(lambda _: find_checks(self._job.loaded, self._job.root))
        except Raised as raised:
            raise raised.error from None
        if talking is not None:
            _require_given(self._functions, has_agent=has_agent, state=self._job.state)

    async def findings(self, transcript: Transcript) -> list[Finding]:
        """What they find, one after another. Each may take as long as a turn.

        Of a conversation that is over, those that look at the agent or its state keep the results they had.
        """
        given = {"scenario": self._job.scenario, "transcript": transcript, "state": self._job.state}
        found: list[Finding] = []
        for one in self._functions:
            if self._job.held is not None and one.needs_end:
                found += self._stored(one)
            else:
                found += await _findings(one, given, self._beside, self._limit)
        return found

    def _stored(self, one: CheckFunction) -> Sequence[Finding]:
        kept = [check for check in self._job.stored_checks if one.is_mine(check)]
        missing = f"`{one.reference}` looks at the agent or its state, which is gone with the conversation"
        return kept or [_problem(missing)]


def find_checks(scenario: LoadedScenario, root: Path) -> tuple[CheckFunction, ...]:
    """Import the functions that a scenario names. Blocks; raises `ScenarioError`.

    Files are looked for beside the scenario, then from `root`.
    """
    names = scenario.scenario.evaluation.checks if scenario.scenario else ()
    return tuple(_found(name, Path(scenario.file).parent, root) for name in names)


def _found(name: str, folder: Path, root: Path) -> CheckFunction:
    try:
        function = load_object(reference_of(name, folder), root)
    except TargetStartError as error:
        raise _problem(str(error), error.trace) from None
    if _is_fixture(function):
        raise _problem(
            f"`{name}` is a fixture, and a check is a plain function; `state` may be what it gives"
        )
    if not callable(function) or isinstance(function, type):
        raise _problem(f"`{name}` is not a function")
    return CheckFunction(name, function, _asked(name, function))


def _is_fixture(function: object) -> bool:
    """Whether pytest fails whoever calls it. By its marks: this part of the package doesn't know pytest."""
    marked = hasattr(function, "_pytestfixturefunction")  # before pytest 8.4
    return marked or type(function).__name__ == "FixtureFunctionDefinition"


def _asked(name: str, function: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise _problem(f"nobody knows which parameters `{name}` has: write a function in Python") from None
    named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if parameters and not named:
        words = f"`{name}` names none of its parameters (`{next(iter(parameters))}`), so it would get nothing"
        raise _problem(f"{words}: name what it looks at, of {', '.join(OFFERED)}. {_WRAPPED}")
    unknown = [one.name for one in named if one.name not in OFFERED and one.default is one.empty]
    if unknown or any(one.kind is one.POSITIONAL_ONLY for one in named):
        what = f"asks for `{unknown[0]}`" if unknown else "has parameters without names"
        raise _problem(f"`{name}` {what}; a check gets what its parameters name: {', '.join(OFFERED)}")
    return frozenset(one.name for one in named if one.name in OFFERED)


_WRAPPED = "A decorator needs `functools.wraps`"


def _require_given(functions: Iterable[CheckFunction], *, has_agent: bool, state: object) -> None:
    """Raise `ScenarioError` if a check asks for what nobody gives."""
    for one in functions:
        if "agent" in one.asks_for and not has_agent:
            raise _problem(
                f"`{one.reference}` asks for `agent`, but the target isn't an object in this process: take "
                "the parameter out, or look at what the agent has left behind by `state`"
            )
        if "state" in one.asks_for and state is None:
            raise _problem(
                f"`{one.reference}` asks for `state`, and nothing gives one: return it from a fixture "
                "`convoprobe_state` in conftest.py, or pass `state=` to `run` or `run_scenario`"
            )


def certain(findings: Iterable[Finding]) -> tuple[CheckResult, ...]:
    """The results among them."""
    return tuple(one for one in findings if isinstance(one, CheckResult))


def require_decided(checks: tuple[CheckResult, ...], findings: Iterable[Finding]) -> tuple[CheckResult, ...]:
    """All checks of a trial. Raises why one gave no result, if nothing speaks against the agent."""
    problem = next((one for one in findings if not isinstance(one, CheckResult)), None)
    if problem is not None and all(check.holds for check in checks):
        raise problem
    return checks


async def _findings(
    one: CheckFunction, given: Mapping[str, object], beside: Beside, limit: float
) -> Sequence[Finding]:
    try:
        async with Deadline(limit, _TooLong(f"`{one.reference}`", limit)):
            found: Sequence[Finding] = await beside(partial(_called, one, given))
            return found
    except _TooLong as error:
        return [error]
    except Raised as raised:
        return [_crashed(one, raised.error)]
    raise AssertionError("a deadline swallows nothing")


def _called(one: CheckFunction, given: Mapping[str, object], agent: object) -> Any:
    """What the function finds, where its code runs; that of an asynchronous one has to be awaited."""
    values = {**given, "agent": agent}
    try:
        # What it changes in the scenario and the transcript is neither evidence nor another check's.
        for name in one.asks_for & _COPIED:
            values[name] = deepcopy(values[name])
        answer = one.function(**{name: values[name] for name in one.asks_for})
        return _awaited(one, answer) if inspect.isawaitable(answer) else _read(one, answer)
    except BaseException as error:  # noqa: BLE001 - code of the project, whatever it raises
        return [_of_error(one, error)]


async def _awaited(one: CheckFunction, answer: Awaitable[object]) -> Sequence[Finding]:
    try:
        return _read(one, await answer)
    except BaseException as error:  # noqa: BLE001 - code of the project, whatever it raises
        return [_of_error(one, error)]


def _read(one: CheckFunction, answer: object) -> Sequence[Finding]:
    return checks_of_answer(answer, one.name, one.expected, asserts=_asserts(one.function))


def _of_error(one: CheckFunction, error: BaseException) -> Finding:
    """A failed assertion is a result. What ends the function from outside is raised again."""
    failed = isinstance(error, AssertionError) or _is_failed_by_pytest(error)
    if not failed and not isinstance(error, Exception):
        raise error
    return CheckResult(one.name, False, one.expected, _said(error)) if failed else _crashed(one, error)


def _is_failed_by_pytest(error: BaseException) -> bool:
    """Whether `pytest.fail` was called. By its name: this part of the package doesn't know pytest."""
    bases = [kind.__name__ for kind in type(error).__mro__]
    return bases[0] == "Failed" and "OutcomeException" in bases


def _said(error: BaseException) -> str:
    """What the assertion says, or else its line: without pytest's rewriting an `assert` has no words."""
    frames = own_frames(traceback.extract_tb(error.__traceback__))
    words = one_line(describe(error).partition(": ")[2])
    line = clean(frames[-1].line or "") if frames else ""
    place = f" ({place_of(frames[-1])})" if frames else ""
    return shorten(words or line or "an assertion failed", 300) + place


def _crashed(one: CheckFunction, error: BaseException) -> ScenarioError:
    if isinstance(error, TypeError) and error.__traceback__ and _is_ours(error):
        return _problem(f"`{one.reference}`: {error}")
    return _problem(f"`{one.reference}` raised {describe(error)}", short_trace(error))


def _is_ours(error: BaseException) -> bool:
    """Whether it was raised by whoever reads the function's answer."""
    return traceback.extract_tb(error.__traceback__)[-1].filename == checks_of_answer.__code__.co_filename


def _problem(message: str, trace: str = "") -> ScenarioError:
    error = ScenarioError(f"evaluation.checks: {message}")
    error.trace = trace
    return error


def _asserts(function: Callable[..., Any]) -> bool:
    """Whether its own code has an `assert`, or raises an AssertionError."""
    plain: Any = inspect.unwrap(function)
    while isinstance(plain, partial):
        plain = inspect.unwrap(plain.func)
    method = vars(type(plain)).get("__call__")  # of an object that can be called
    code = getattr(plain, "__code__", getattr(method, "__code__", None))
    return code is not None and any(map(_has_assertion, _codes(code)))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _has_assertion(code: CodeType) -> bool:
    # The name of the instruction differs between versions of Python.
    return any(
        one.opname == "LOAD_ASSERTION_ERROR" or one.argval is AssertionError or one.argval == "AssertionError"
        for one in dis.get_instructions(code)
    )


async def _without_agent(home: Home, call: Callable[[object], Any]) -> Any:
    """As `Beside`, for a target that isn't an object of this process."""
    found = await in_own_thread(partial(call, NO_AGENT))
    if not inspect.isawaitable(found):
        return found
    task = home.open()
    try:
        return await task.run(partial(_waited_for, found))
    finally:
        task.stop()


async def _waited_for(found: Awaitable[Any]) -> Any:
    return await found
