"""The checks of tool calls: which tools were called, how often, with what, in which order. Pure functions.

Two things are counted. A *call* is every attempt, whatever became of it: nothing less breaks a prohibition.
A *use* is a call that was carried out, and that didn't fail unless the scenario lets failed calls count:
nothing less meets a requirement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..formatting import counted
from ..scenario.models import ToolAssertion, ToolUsage
from ..text import shorten
from ..tool_patterns import matches
from ..transcript import ToolCall
from .arguments import unmet, wanted
from .call_lists import list_of_calls
from .transcript_view import call_line
from .types import NO_SUCH_TOOL, PROHIBITED, CheckResult

_CALL = 300
ONLY_LISTED = "only the listed tools"

Calls = Sequence[tuple[int, ToolCall]]
"""Tool calls with the numbers of their turns, in order."""


def tool_checks(usage: ToolUsage, calls: Calls, tools: Sequence[str] | None = None) -> Iterator[CheckResult]:
    """The result of every check of tool calls; `tools` are the names of the target's tools, if known."""
    made = _Made(calls, usage.count_failed_calls)
    yield from _required(usage, made)
    yield from _prohibited(usage, made, tools)
    if usage.only_listed:
        yield _only_listed(usage, calls)
    if usage.expected_calls is not None:
        yield list_of_calls(usage.expected_calls, *made.uses_and_others)
    for criterion in usage.tool_call_criteria:
        for assertion in criterion.assertions:
            if isinstance(assertion, ToolAssertion):
                yield from _assertion(criterion.tool, assertion, made)


@dataclass(frozen=True)
class _Made:
    """All calls of a conversation, to be asked for those of one tool or of a pattern."""

    calls: Calls
    count_failed: bool

    def of(self, tool: str) -> Calls:
        return [(turn, call) for turn, call in self.calls if matches(tool, call.name)]

    def uses_of(self, tool: str) -> Calls:
        return [(turn, call) for turn, call in self.of(tool) if self._is_use(call)]

    @property
    def uses_and_others(self) -> tuple[Calls, Calls]:
        """All uses of tools, and all other calls."""
        uses = [(turn, call) for turn, call in self.calls if self._is_use(call)]
        return uses, [(turn, call) for turn, call in self.calls if not self._is_use(call)]

    def first(self, tool: str) -> int | None:
        """The place of the tool's first call among all calls."""
        return next((at for at, (_, call) in enumerate(self.calls) if matches(tool, call.name)), None)

    def first_use(self, tool: str) -> int | None:
        """The place of its first use among all calls."""
        places = enumerate(self.calls)
        return next((at for at, (_, call) in places if matches(tool, call.name) and self._is_use(call)), None)

    def within(self, assertion: ToolAssertion) -> _Made:
        """Those of the turns that an assertion is about."""
        first = assertion.in_turn or 0
        last = assertion.in_turn or assertion.by_turn or math.inf
        return replace(self, calls=[(turn, call) for turn, call in self.calls if first <= turn <= last])

    def _is_use(self, call: ToolCall) -> bool:
        return call.executed and (self.count_failed or not call.failed)


def _required(usage: ToolUsage, made: _Made) -> Iterator[CheckResult]:
    for tool in usage.required_tools:
        uses = made.uses_of(tool)
        found = _count(made.of(tool))
        yield CheckResult(f"required tool {tool}", bool(uses), "at least 1 call", found, _turn_of(uses, 0))


def _prohibited(usage: ToolUsage, made: _Made, tools: Sequence[str] | None) -> Iterator[CheckResult]:
    for tool in usage.prohibited_tools:
        calls = made.of(tool)
        found = f"{_count(calls)}: {_shown(calls[0][1])}" if calls else _count(calls)
        if not calls and tools is not None and not any(matches(tool, name) for name in tools):
            found = NO_SUCH_TOOL
        yield CheckResult(f"{PROHIBITED}{tool}", not calls, "no call", found, _turn_of(calls, 0))


def _only_listed(usage: ToolUsage, calls: Calls) -> CheckResult:
    criteria = (criterion.tool for criterion in usage.tool_call_criteria)
    calls_of_list = [call.tool for call in usage.expected_calls.calls] if usage.expected_calls else []
    listed = tuple(dict.fromkeys((*usage.required_tools, *usage.optional_tools, *criteria, *calls_of_list)))
    others = [(turn, call) for turn, call in calls if not any(matches(name, call.name) for name in listed)]
    found = f"{_count(others)}: {_shown(others[0][1])}" if others else "no other call"
    expected = f"no tool but {', '.join(listed)}" if listed else "no call of any tool"
    return CheckResult(ONLY_LISTED, not others, expected, found, _turn_of(others, 0))


def _assertion(tool: str, assertion: ToolAssertion, made: _Made) -> Iterator[CheckResult]:
    within, when = made.within(assertion), _when(assertion)
    counts = (assertion.times, assertion.at_least, assertion.at_most) != (None, None, None)
    if counts:
        yield _number_of_calls(tool, assertion, within)
    if assertion.args:
        yield _arguments(tool, assertion, within)
    if when and not counts and not assertion.args:
        yield _called(tool, when, within, made)
    if assertion.not_before_turn is not None:
        yield _not_before_turn(tool, assertion.not_before_turn, made)
    if assertion.before is not None:
        yield _before(tool, assertion.before, made)
    if assertion.after is not None:
        yield _after(tool, assertion.after, made)


def _when(assertion: ToolAssertion) -> str:
    """The turns that it is about, as the end of a check's name."""
    if assertion.in_turn is not None:
        return f" in turn {assertion.in_turn}"
    return "" if assertion.by_turn is None else f" by turn {assertion.by_turn}"


def _called(tool: str, when: str, within: _Made, made: _Made) -> CheckResult:
    uses, others = within.uses_of(tool), made.uses_of(tool)
    found = _count(within.of(tool))
    if not uses and others:
        found += f"{when}; there is one in turn {others[0][0]}"
    return CheckResult(
        f"{tool}: called{when}", bool(uses), "at least 1 call", found, _turn_of(uses or others, 0)
    )


def _not_before_turn(tool: str, first: int, made: _Made) -> CheckResult:
    """The check also passes if the tool is never called. An attempt breaks it."""
    early = [(turn, call) for turn, call in made.of(tool) if turn < first]
    found = _count(early)
    if early:
        found += f", the first in turn {early[0][0]}: {_shown(early[0][1])}"
    return CheckResult(
        f"{tool}: not before turn {first}", not early, "no earlier call", found, _turn_of(early, 0)
    )


def _number_of_calls(tool: str, assertion: ToolAssertion, made: _Made) -> CheckResult:
    calls = made.of(tool)
    least = assertion.times if assertion.times is not None else assertion.at_least
    most = assertion.times if assertion.times is not None else assertion.at_most
    # At most none is a prohibition, which an attempt breaks.
    counted_calls = calls if most == 0 else made.uses_of(tool)
    too_many = most is not None and len(counted_calls) > most
    holds = not too_many and (least is None or len(counted_calls) >= least)
    # A call too many was made in a turn; a missing call has no turn.
    turn = _turn_of(counted_calls, most) if too_many and most is not None else None
    return CheckResult(
        f"{tool}: number of calls{_when(assertion)}", holds, _bounds(assertion), _count(calls), turn
    )


def _bounds(assertion: ToolAssertion) -> str:
    bounds = {"exactly": assertion.times, "at least": assertion.at_least, "at most": assertion.at_most}
    return ", ".join(f"{words} {bound}" for words, bound in bounds.items() if bound is not None)


def _arguments(tool: str, assertion: ToolAssertion, every: _Made) -> CheckResult:
    # `every` forbids other arguments, so that an attempt breaks it; without it a use is asked for.
    made = every.of(tool) if assertion.every else every.uses_of(tool)
    wrong = [unmet(assertion.args, call.arguments) for _, call in made]
    good = [turn for (turn, _), problems in zip(made, wrong, strict=True) if not problems]
    holds = len(good) == len(made) if assertion.every else bool(good)
    expected = f"{'every call' if assertion.every else 'a call'} with {wanted(assertion.args)}"
    found, turn = f"{len(good)} of {_count(made)} like that" if made else _count(every.of(tool)), None
    if holds and good:
        turn = good[0]
    elif made and not holds:
        # The wrong call with the fewest problems says most about what went wrong.
        nearest = min((len(problems), index) for index, problems in enumerate(wrong) if problems)[1]
        turn, call = made[nearest]
        shown = f"{_shown(call)}, where {' and '.join(wrong[nearest])}"
        found = shown if len(made) == 1 else f"{found}; the nearest is {shown}"
    return CheckResult(f"{tool}: arguments{_when(assertion)}", holds, expected, found, turn)


def _before(tool: str, other: str, made: _Made) -> CheckResult:
    """The check also passes if the other tool is never called."""
    holds = _in_order(made.first_use(tool), made.first(other))
    expected = f"its first call before the first call of {other}"
    found = _order(made, uses=tool, calls=other)
    return CheckResult(f"{tool}: before {other}", holds, expected, *found)


def _after(tool: str, other: str, made: _Made) -> CheckResult:
    """The check also passes if this tool is never called."""
    holds = _in_order(made.first_use(other), made.first(tool))
    expected = f"its first call after the first call of {other}"
    found = _order(made, uses=other, calls=tool)
    return CheckResult(f"{tool}: after {other}", holds, expected, *found)


def _in_order(needed: int | None, guarded: int | None) -> bool:
    """Whether what is needed was used before the first attempt at what it guards, if there was one."""
    return guarded is None or (needed is not None and needed < guarded)


def _order(made: _Made, *, uses: str, calls: str) -> tuple[str, int | None]:
    """Where the two tools were first called, in words, and the turn of the earlier call."""
    firsts = {uses: made.first_use(uses), calls: made.first(calls)}
    known = sorted((at, name) for name, at in firsts.items() if at is not None)
    order = ", then ".join(f"{name} in turn {made.calls[at][0]}" for at, name in known)
    never = [f"{_count(made.of(name))} of {name}" for name, at in firsts.items() if at is None]
    return "; ".join([order] * bool(known) + never), made.calls[known[0][0]][0] if known else None


def _turn_of(calls: Calls, index: int) -> int | None:
    return calls[index][0] if index < len(calls) else None


def _count(calls: Calls) -> str:
    """`no call`, `2 calls`, `3 calls (1 failed, 1 not carried out)`."""
    if not calls:
        return "no call"
    refused = sum(not call.executed for _, call in calls)
    failed = sum(call.failed for _, call in calls) - refused
    kinds = [f"{n} {what}" for n, what in ((failed, "failed"), (refused, "not carried out")) if n]
    return counted(len(calls), "call") + (f" ({', '.join(kinds)})" if kinds else "")


def _shown(call: ToolCall) -> str:
    return shorten(call_line(call), _CALL)
