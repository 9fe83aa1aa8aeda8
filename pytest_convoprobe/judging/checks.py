"""The checks of a conversation in code: which tools were called, how, and the limits. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from ..errors import ScenarioError
from ..scenario.models import Efficiency, Evaluation, ToolUsage
from ..scenario.tool_names import names_in, same_but_spelling
from ..text import is_blank
from ..tool_patterns import matches
from ..transcript import GREETING_TURN, Reply, Transcript, WireSeen
from .absent_turns import without_absent_turns
from .latency import slowest_turn
from .reply_checks import reply_checks
from .types import NO_SUCH_TOOL, CheckResult
from .unanswered import decided_checks, decided_limit, without_unanswered

SILENCE = "the agent says something"
"""The name of the check that an agent fails which is silent in every turn."""
GREETING = "the agent speaks first"
"""The name of the check that an agent fails which was to greet, and said and did nothing."""


def run_checks(
    evaluation: Evaluation, transcript: Transcript, tools: Sequence[str] | None = None
) -> tuple[CheckResult, ...]:
    """The result of every check in the scenario, passed or not.

    `tools` are the names of the target's tools, None if they aren't known. Raises `ScenarioError` if the
    target does not report what a check needs (tool calls, their arguments, or tokens), and if nothing speaks
    against the agent, but something can't be decided: a turn that a check is about never took place, or the
    agent's time wasn't measured.
    """
    _require_known_tools(evaluation, transcript)
    _require_known_arguments(evaluation, transcript)
    _require_known_tokens(evaluation.efficiency, transcript)
    if tools is None:
        _require_names_as_called(evaluation, transcript)
    usage, absent = without_absent_turns(evaluation.tool_usage, transcript)
    latency = _latency(evaluation.efficiency, transcript)
    replies, unclear = reply_checks(evaluation.replies, transcript)
    found = (
        *_silence(transcript),
        *_of_tools(usage, transcript, tools),
        *_limits(evaluation.efficiency, transcript),
        *([latency] if isinstance(latency, CheckResult) else []),
        *replies,
    )
    # What is certain comes first: an agent that broke another check did so whatever came of these.
    for undecided in (absent, latency, *unclear):
        if isinstance(undecided, ScenarioError) and all(check.holds for check in found):
            raise undecided
    return found


def _of_tools(usage: ToolUsage, transcript: Transcript, tools: Sequence[str] | None) -> Iterator[CheckResult]:
    seen = _on_wire(transcript, "tool_calls")
    for check in decided_checks(usage, transcript.tool_calls, tools):
        yield replace(check, found=check.found + seen) if check.found != NO_SUCH_TOOL else check


def _on_wire(transcript: Transcript, part: str) -> str:
    """What is added to a finding that rests on what the gateway saw, and not on what the target reports."""
    given = any(part in seen.gives for _, seen in transcript.wire)
    return " (seen on the wire)" if given else ""


def _silence(transcript: Transcript) -> Iterator[CheckResult]:
    """Nothing is found where the agent spoke: the check is only shown to those that it concerns."""
    turns = transcript.user_turns or transcript.turns
    # A judge may call it a success that something was never said. That is no evidence of an agent at work.
    if transcript.is_silent:
        found = f"{'an empty reply' if len(turns) == 1 else 'empty replies'} in every turn"
        yield CheckResult(SILENCE, False, "a reply with text", found, turns[0].number)
    elif any(turn.is_greeting and _is_empty(turn.reply) for turn in transcript.turns):
        yield CheckResult(GREETING, False, "a greeting with text", "an empty greeting", GREETING_TURN)


def _is_empty(reply: Reply) -> bool:
    """Whether the agent said nothing, and called no tool."""
    return is_blank(reply.text) and not reply.tool_calls


def _require_known_tools(evaluation: Evaluation, transcript: Transcript) -> None:
    """Every turn must report its calls: a turn that does not might contain the prohibited call."""
    silent = [turn.number for turn in transcript.turns if not turn.reply.knows_calls]
    asked = list(_keys_about_tools(evaluation))
    if silent and asked:
        advice = _how_to_report("tool_calls", transcript, silent)
        raise ScenarioError(
            f"{_listed(asked)} cannot be checked: the target does not report its tool calls in "
            f"{_where(silent, transcript)}. {advice}, or take these keys out of the scenario"
        )


def _how_to_report(part: str, transcript: Transcript, silent: Sequence[int]) -> str:
    """What the target says itself about what it found, or what each kind of target has to do."""
    turns = [turn.reply for turn in transcript.turns if turn.number in silent]
    said = next((reply.gaps.get(part, "") for reply in turns), "")
    return _not_seen(part, turns[0].wire) + (said or _REPORTING[part])


def _not_seen(part: str, seen: WireSeen | None) -> str:
    """Why what the gateway saw is not enough; empty without a gateway."""
    if seen is None:
        return ""
    if part == "tool_calls" or not seen.calls:
        return f"What its gateway saw is not enough: {seen.unclear or _NO_MODEL_CALL}. "
    silent = next((one.model for one in seen.calls if one.usage is None), "")
    return (
        f"What its gateway saw is not enough: an answer of `{silent}` does not say its tokens (streams of "
        "chat completions do so with `stream_options: {include_usage: true}`). "
    )


_NO_MODEL_CALL = "no call of a model came through it in this turn"


_REPORTING = {
    "tool_calls": "Have it report them (a Python target returns Reply(text, tool_calls=[...]), an empty list "
    "where it called none; an HTTP target sets `tool_calls`)",
    "usage": "Have it report them (a Python target returns Reply(text, usage=Usage(...)), an HTTP target "
    "sets `usage`)",
}


def _require_known_arguments(evaluation: Evaluation, transcript: Transcript) -> None:
    """An argument that isn't reported isn't one that the agent left out."""
    for key, tool in _conditions_on_arguments(evaluation.tool_usage):
        for turn, call in transcript.tool_calls:
            if not matches(tool, call.name):
                continue
            if "arguments" in call.unreported:
                raise ScenarioError(_UNKNOWN_ARGUMENTS.format(key, tool, call.name, turn))
            if "arguments" in call.cut:
                # Whatever the part that was kept shows: the rest could make each condition true or false.
                raise _too_long(_CUT_ARGUMENTS.format(key, tool, call.name, turn))


def _conditions_on_arguments(usage: ToolUsage) -> Iterator[tuple[str, str]]:
    """The tools on whose arguments there are conditions, each with the key that they are in."""
    for criterion in usage.tool_call_criteria:
        if any(getattr(assertion, "args", None) for assertion in criterion.assertions):
            yield "tool_call_criteria", criterion.tool
    for expected in usage.expected_calls.calls if usage.expected_calls else ():
        if expected.args:
            yield "expected_calls", expected.tool


def _too_long(message: str) -> ScenarioError:
    error = ScenarioError(message)
    error.remedies = ("run.max_text",)
    return error


_CUT_ARGUMENTS = (
    "tool_usage.{}, `args` of {} cannot be checked: the arguments of the call of {} in turn "
    "{} are longer than `run.max_text`, so only a part of them was kept. Raise the setting, or take `args` "
    "out of the scenario"
)
_UNKNOWN_ARGUMENTS = (
    "tool_usage.{}, `args` of {} cannot be checked: the target does not report the arguments "
    "of its call of {} in turn {}. Have it report them (`arguments` beside the call's `name`, an empty "
    "mapping where there are none), or take `args` out of the scenario"
)


def _require_names_as_called(evaluation: Evaluation, transcript: Transcript) -> None:
    """A name that is only spelled in another way than the tool that was called matches nothing by mistake."""
    called = list(dict.fromkeys(call.name for _, call in transcript.tool_calls))
    for one in names_in(evaluation.tool_usage):
        if one.known_in(called):
            continue
        meant = next((name for name in called if same_but_spelling(one.name, name)), None)
        if meant is not None:
            raise ScenarioError(
                f"tool_usage.{one.key}: `{one.name}` matches no tool that the agent called, but it called "
                f"`{meant}`; did you mean that? Upper and lower case, separators and prefixes of a server "
                "count. If both exist, name them in `target.tools`"
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
    if usage.only_listed:
        yield "tool_usage.only_listed"
    if usage.expected_calls is not None:
        yield "tool_usage.expected_calls"
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
            f"{_where(silent, transcript)}. {_how_to_report('usage', transcript, silent)}, or take the limit "
            "out of the scenario"
        )


def _where(silent: Sequence[int], transcript: Transcript) -> str:
    return "any turn" if len(silent) == len(transcript.turns) else f"turn {silent[0]}"


def _limits(efficiency: Efficiency, transcript: Transcript) -> Iterator[CheckResult]:
    turns = [turn.number for turn in transcript.user_turns]
    if efficiency.max_tool_calls is not None:
        yield _most_calls(efficiency.max_tool_calls, transcript)
    if efficiency.max_llm_tokens is not None:
        yield _tokens(efficiency.max_llm_tokens, transcript)
    if efficiency.max_conversation_turns is not None:
        yield _limit("turns", efficiency.max_conversation_turns, len(turns), turns)


def _latency(efficiency: Efficiency, transcript: Transcript) -> CheckResult | ScenarioError | None:
    limit = efficiency.max_turn_latency
    return None if limit is None else slowest_turn(limit, transcript)


def _most_calls(most: int, transcript: Transcript) -> CheckResult:
    every = transcript.tool_calls
    counts = ([turn for turn, _ in calls] for calls in (every, without_unanswered(every)))
    found, certain = (_limit("tool calls", most, len(turns), turns) for turns in counts)
    limit = decided_limit(found, certain, every)
    return replace(limit, found=limit.found + _on_wire(transcript, "tool_calls"))


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
    found = f"{total:,}{_on_wire(transcript, 'usage')}"
    return CheckResult("tokens of the agent", total <= most, f"at most {most:,}", found, crossed)
