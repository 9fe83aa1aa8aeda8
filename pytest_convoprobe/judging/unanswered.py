"""Calls of tools that a model asked for on the wire, and of which no later request has a result.

Nobody knows whether they were carried out, or whether they were tools at all: some frameworks have a model
give its last answer as the arguments of one. What would be decided by that alone is not decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..errors import ScenarioError
from ..scenario.models import ToolUsage
from .call_lists import EXPECTED_CALLS
from .tool_checks import ONLY_LISTED, Calls, tool_checks
from .types import CheckResult

_CARRIED_OUT = (
    "{} cannot be checked: it depends on whether the call of {} in turn {} was carried out. A model asked "
    "for it on the wire, but no later request has its result. Have the target report its tool calls"
)
_IS_A_TOOL = (
    "{} cannot be checked: it depends on whether {}, for which a model asked on the wire in turn {}, is a "
    "tool. No later request has its result, and some frameworks have models answer in this form. Name it in "
    "tool_usage.optional_tools if it isn't a tool, or have the target report its tool calls"
)


def decided_checks(usage: ToolUsage, calls: Calls, tools: Sequence[str] | None) -> Iterator[CheckResult]:
    """The checks of tool calls. Raises `ScenarioError` for one that rests on what became of such a call."""
    found = tuple(tool_checks(usage, calls, tools))
    if any(call.is_unanswered for _, call in calls):
        refused = [
            (turn, replace(call, executed=not call.is_unanswered and call.executed)) for turn, call in calls
        ]
        _require_same(found, tool_checks(usage, refused, tools), calls, _CARRIED_OUT)
        others = tool_checks(usage, without_unanswered(calls), tools)
        listed, without = (list(filter(_counts_all, some)) for some in (found, others))
        _require_same(listed, without, calls, _IS_A_TOOL)
    yield from found


def _counts_all(check: CheckResult) -> bool:
    """Whether a check is about all calls, and not about those of one tool."""
    return check.name == ONLY_LISTED or check.name.startswith(EXPECTED_CALLS)


def decided_limit(limit: CheckResult, without: CheckResult, calls: Calls) -> CheckResult:
    """A limit of tool calls, if it is the same `without` the calls that may have been none."""
    _require_same([limit], [without], calls, _IS_A_TOOL)
    return limit


def without_unanswered(calls: Calls) -> Calls:
    """The calls that certainly were calls of tools."""
    return [(turn, call) for turn, call in calls if not call.is_unanswered]


def _require_same(
    found: Iterable[CheckResult], others: Iterable[CheckResult], calls: Calls, message: str
) -> None:
    for check, other in zip(found, others, strict=True):
        if check.holds is not other.holds:
            turn, call = next((turn, call) for turn, call in calls if call.is_unanswered)
            raise ScenarioError(message.format(check.name, call.name, turn))
