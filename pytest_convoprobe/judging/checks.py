"""The checks of a conversation in code: which tools were called, how, and the limits. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from ..errors import ScenarioError
from ..formatting import counted
from ..scenario.models import Efficiency, Evaluation, ToolAssertion, ToolUsage
from ..text import shorten
from ..transcript import ToolCall, Transcript
from .arguments import unmet, wanted
from .transcript_view import call_line
from .types import CheckResult

_CALL = 300

Calls = Sequence[tuple[int, ToolCall]]
"""Tool calls with the numbers of their turns, in order."""


def run_checks(evaluation: Evaluation, transcript: Transcript) -> tuple[CheckResult, ...]:
    """The result of every check in the scenario, passed or not.

    Raises `ScenarioError` if the target does not report what a check needs: tool calls or tokens.
    """
    _require_known_tools(evaluation, transcript)
    _require_known_tokens(evaluation.efficiency, transcript)
    calls = transcript.tool_calls
    return (
        *_usage(evaluation.tool_usage, calls),
        *_assertions(evaluation.tool_usage, calls),
        *_limits(evaluation.efficiency, transcript),
    )


def _require_known_tools(evaluation: Evaluation, transcript: Transcript) -> None:
    """Every turn must report its calls: a turn that does not might contain the prohibited call."""
    silent = [turn.number for turn in transcript.turns if turn.reply.tool_calls is None]
    asked = list(_keys_about_tools(evaluation))
    if silent and asked:
        raise ScenarioError(
            f"{_listed(asked)} cannot be checked: the target does not report its tool calls in "
            f"{_where(silent, transcript)}. Have it report them (a Python target returns "
            "Reply(text, tool_calls=[...]), an empty list where it called none; an HTTP target sets "
            "`tool_calls`), or take these keys out of the scenario"
        )


def _listed(keys: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = keys
    return f"{', '.join(others)} and {last}" if others else last


def _keys_about_tools(evaluation: Evaluation) -> Iterator[str]:
    usage = evaluation.tool_usage
    if usage.required_tools:
        yield "tool_usage.required_tools"
    if usage.prohibited_tools:
        yield "tool_usage.prohibited_tools"
    if any(criterion.assertions for criterion in usage.tool_call_criteria):
        yield "tool_usage.tool_call_criteria"
    if evaluation.efficiency.max_tool_calls is not None:
        yield "efficiency.max_tool_calls"


def _require_known_tokens(efficiency: Efficiency, transcript: Transcript) -> None:
    if efficiency.max_llm_tokens is None:
        return
    silent = [turn.number for turn in transcript.turns if turn.reply.usage is None]
    if silent:
        raise ScenarioError(
            "efficiency.max_llm_tokens cannot be checked: the target does not report its tokens in "
            f"{_where(silent, transcript)}. Have it report them (a Python target returns "
            "Reply(text, usage=Usage(...)), an HTTP target sets `usage`), or take the limit out of the "
            "scenario"
        )


def _where(silent: Sequence[int], transcript: Transcript) -> str:
    return "any turn" if len(silent) == len(transcript.turns) else f"turn {silent[0]}"


def _usage(usage: ToolUsage, calls: Calls) -> Iterator[CheckResult]:
    for tool in usage.required_tools:
        made = _calls_of(tool, calls)
        yield CheckResult(
            f"required tool {tool}", bool(made), "at least 1 call", _count(made), _turn_of(made, 0)
        )
    for tool in usage.prohibited_tools:
        made = _calls_of(tool, calls)
        found = f"{_count(made)}: {_shown(made[0][1])}" if made else _count(made)
        yield CheckResult(f"prohibited tool {tool}", not made, "no call", found, _turn_of(made, 0))


def _assertions(usage: ToolUsage, calls: Calls) -> Iterator[CheckResult]:
    for criterion in usage.tool_call_criteria:
        for assertion in criterion.assertions:
            if isinstance(assertion, ToolAssertion):
                yield from _assertion(criterion.tool, assertion, calls)


def _assertion(tool: str, assertion: ToolAssertion, calls: Calls) -> Iterator[CheckResult]:
    made = _calls_of(tool, calls)
    if (assertion.times, assertion.at_least, assertion.at_most) != (None, None, None):
        yield _number_of_calls(tool, assertion, made)
    if assertion.args:
        yield _arguments(tool, assertion, made)
    if assertion.before is not None:
        yield _before(tool, assertion.before, calls)
    if assertion.after is not None:
        yield _after(tool, assertion.after, calls)


def _number_of_calls(tool: str, assertion: ToolAssertion, made: Calls) -> CheckResult:
    least = assertion.times if assertion.times is not None else assertion.at_least
    most = assertion.times if assertion.times is not None else assertion.at_most
    too_many = most is not None and len(made) > most
    holds = not too_many and (least is None or len(made) >= least)
    # A call too many was made in a turn; a missing call has no turn.
    turn = _turn_of(made, most) if too_many and most is not None else None
    return CheckResult(f"{tool}: number of calls", holds, _bounds(assertion), _count(made), turn)


def _bounds(assertion: ToolAssertion) -> str:
    bounds = {"exactly": assertion.times, "at least": assertion.at_least, "at most": assertion.at_most}
    return ", ".join(f"{words} {bound}" for words, bound in bounds.items() if bound is not None)


def _arguments(tool: str, assertion: ToolAssertion, made: Calls) -> CheckResult:
    wrong = [unmet(assertion.args, call.arguments) for _, call in made]
    good = [turn for (turn, _), problems in zip(made, wrong, strict=True) if not problems]
    holds = len(good) == len(made) if assertion.every else bool(good)
    expected = f"{'every call' if assertion.every else 'a call'} with {wanted(assertion.args)}"
    found, turn = f"{len(good)} of {_count(made)} like that" if made else _count(made), None
    if holds and good:
        turn = good[0]
    elif made and not holds:
        # The wrong call with the fewest problems says most about what went wrong.
        nearest = min((len(problems), index) for index, problems in enumerate(wrong) if problems)[1]
        turn, call = made[nearest]
        shown = f"{_shown(call)}, where {' and '.join(wrong[nearest])}"
        found = shown if len(made) == 1 else f"{found}; the nearest is {shown}"
    return CheckResult(f"{tool}: arguments", holds, expected, found, turn)


def _before(tool: str, other: str, calls: Calls) -> CheckResult:
    """The check also passes if the other tool is never called."""
    this, that = _first(tool, calls), _first(other, calls)
    holds = that is None or (this is not None and this < that)
    expected = f"its first call before the first call of {other}"
    return CheckResult(f"{tool}: before {other}", holds, expected, *_order(tool, other, calls))


def _after(tool: str, other: str, calls: Calls) -> CheckResult:
    """The check also passes if this tool is never called."""
    this, that = _first(tool, calls), _first(other, calls)
    holds = this is None or (that is not None and that < this)
    expected = f"its first call after the first call of {other}"
    return CheckResult(f"{tool}: after {other}", holds, expected, *_order(tool, other, calls))


def _order(tool: str, other: str, calls: Calls) -> tuple[str, int | None]:
    """Where the two tools were first called, in words, and the turn of the earlier call."""
    firsts = {name: _first(name, calls) for name in (tool, other)}
    made = sorted((at, name) for name, at in firsts.items() if at is not None)
    order = ", then ".join(f"{name} in turn {calls[at][0]}" for at, name in made)
    never = [f"no call of {name}" for name, at in firsts.items() if at is None]
    return "; ".join([order] * bool(made) + never), calls[made[0][0]][0] if made else None


def _limits(efficiency: Efficiency, transcript: Transcript) -> Iterator[CheckResult]:
    turns = [turn.number for turn in transcript.turns]
    calls = [number for number, _ in transcript.tool_calls]
    if efficiency.max_tool_calls is not None:
        yield _limit("tool calls", efficiency.max_tool_calls, len(calls), calls)
    if efficiency.max_llm_tokens is not None:
        yield _tokens(efficiency.max_llm_tokens, transcript)
    if efficiency.max_conversation_turns is not None:
        yield _limit("turns", efficiency.max_conversation_turns, len(turns), turns)


def _limit(name: str, most: int, found: int, turns: Sequence[int]) -> CheckResult:
    """`turns` contains the turn of each counted thing."""
    crossed = turns[most] if found > most else None
    return CheckResult(name, found <= most, f"at most {most:,}", f"{found:,}", crossed)


def _tokens(most: int, transcript: Transcript) -> CheckResult:
    used = list(accumulate(turn.reply.usage.total for turn in transcript.turns if turn.reply.usage))
    total = used[-1] if used else 0
    crossed = next(
        (turn.number for turn, sum_ in zip(transcript.turns, used, strict=True) if sum_ > most), None
    )
    return CheckResult("tokens of the agent", total <= most, f"at most {most:,}", f"{total:,}", crossed)


def _calls_of(tool: str, calls: Calls) -> Calls:
    return [(turn, call) for turn, call in calls if call.name == tool]


def _first(tool: str, calls: Calls) -> int | None:
    """The place of the tool's first call among all calls."""
    return next((index for index, (_, call) in enumerate(calls) if call.name == tool), None)


def _turn_of(calls: Calls, index: int) -> int | None:
    return calls[index][0] if index < len(calls) else None


def _count(calls: Calls) -> str:
    return "no call" if not calls else counted(len(calls), "call")


def _shown(call: ToolCall) -> str:
    return shorten(call_line(call), _CALL)
