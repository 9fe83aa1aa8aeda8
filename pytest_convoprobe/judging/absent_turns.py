"""Checks about a turn that never took place: nobody knows what the agent would have done in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..errors import ScenarioError
from ..scenario.models import ToolAssertion, ToolCallCriterion, ToolUsage
from ..transcript import Termination, Transcript


def without_absent_turns(usage: ToolUsage, transcript: Transcript) -> tuple[ToolUsage, ScenarioError | None]:
    """The checks of tools that can be decided, and an error about those that can't, if any.

    An agent that ended the conversation itself had every chance: what it has not done, it won't do.
    """
    missing = [] if transcript.termination is Termination.AGENT_ENDED else list(_absent(usage, transcript))
    if not missing:
        return usage, None
    left = tuple(_without(criterion, missing) for criterion in usage.tool_call_criteria)
    decidable = usage.model_copy(update={"tool_call_criteria": left})
    return decidable, ScenarioError(_sentence(*missing[0], transcript))


def _without(
    criterion: ToolCallCriterion, missing: Collection[tuple[str, ToolAssertion]]
) -> ToolCallCriterion:
    left = tuple(one for one in criterion.assertions if (criterion.tool, one) not in missing)
    return criterion.model_copy(update={"assertions": left})


def _absent(usage: ToolUsage, transcript: Transcript) -> Iterator[tuple[str, ToolAssertion]]:
    last = transcript.turns[-1].number if transcript.turns else 0
    for criterion in usage.tool_call_criteria:
        for one in criterion.assertions:
            if isinstance(one, ToolAssertion) and one.in_turn is not None and one.in_turn > last:
                yield criterion.tool, one


def _sentence(tool: str, assertion: ToolAssertion, transcript: Transcript) -> str:
    turn = assertion.in_turn
    return (
        f"tool_usage.tool_call_criteria, `in_turn: {turn}` of {tool} cannot be checked: {ended(transcript)}, "
        f"so turn {turn} never took place. Have the user go on until then (`synthetic_user.script`), or "
        f"write `by_turn: {turn}`, which asks for a call in any turn until that one"
    )


def ended(transcript: Transcript) -> str:
    """When the conversation ended, and why: `the conversation ended in turn 2 (user done)`."""
    why = f" ({transcript.termination.value.replace('_', ' ')})" if transcript.termination else ""
    when = f"in turn {transcript.turns[-1].number}" if transcript.turns else "before the first turn"
    return f"the conversation ended {when}{why}"
