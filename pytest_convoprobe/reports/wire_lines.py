"""What the gateway saw of an agent's own calls to models, in the words of every report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..formatting import counted, dollars, seconds
from ..llm.port import Role
from ..result import ScenarioResult
from ..text import one_line, shorten
from ..transcript import ModelCall, Transcript, WireSeen

ON_WIRE = "seen on the wire"
"""The mark of a call of a tool that the target does not report itself."""

_NAME = 80
_WORDS = 300
_LISTED = 3


def model_lines(seen: WireSeen | None) -> Iterator[str]:
    """The agent's calls of models in one turn: all in one line, what went wrong, and what is not clear."""
    if seen is None:
        return
    if seen.calls:
        yield calls_in_words(seen)
    for number, call in enumerate(seen.calls, start=1):
        yield from (f"call {number}: {shorten(one_line(words), _WORDS)}" for words in _out_of_order(call))
    if "tool_calls" in seen.gives and seen.unclear:
        yield f"there may be calls of tools that were not seen: {shorten(one_line(seen.unclear), _WORDS)}"
    yield from (shorten(one_line(remark), _WORDS) for remark in seen.remarks)


def calls_in_words(seen: WireSeen) -> str:
    """`2 calls of gpt-4o, 1,200 + 80 tokens, $0.0012, 1.4 s`; what isn't known is said."""
    usage = seen.usage
    tokens = (
        "tokens not known"
        if usage is None
        else f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    )
    calls = counted(len(seen.calls), "call") + (f" of {_models(seen)}" if seen.models else "")
    parts = [calls + _replayed(seen), tokens, dollars(seen.cost), seconds(seen.seconds)]
    return ", ".join(parts)


def model_of(result: ScenarioResult, role: Role) -> str:
    """The name of the model that a role called; of the agent's own calls, all that were seen."""
    if role is Role.AGENT:
        names = dict.fromkeys(name for _, seen in result.transcript.wire for name in seen.models)
        return shorten(", ".join(map(one_line, names)), _NAME)
    return one_line(result.models.get(role, ""))


def made_no_call(transcript: Transcript) -> bool:
    """Whether there was a gateway, and the agent called no model through it in the whole conversation."""
    return bool(transcript.wire) and not any(seen.calls for _, seen in transcript.wire)


NO_CALL = (
    "the agent made no call of a model through its gateway (target.models). Calls by another address are "
    "neither recorded nor replayed. Usual reasons: the agent is a service that wasn't started by "
    "`convoprobe gateway -- COMMAND` and doesn't use `{{ model_url }}`; an address is written in its code; "
    "or its client was made before the first scenario, since a test module or conftest.py imports the agent"
)


def unused_gateway(silent: Iterable[bool]) -> str:
    """The sentence on the conversations in which the agent made no call; empty if there is none."""
    found = list(silent)
    if not any(found):
        return ""
    return f"in {sum(found):,} of {counted(len(found), 'conversation')}, {NO_CALL}"


def unrecorded_calls(transcript: Transcript) -> str:
    """`1 model call of the agent was not recorded: turn 2, status 503; ...`; empty if a replay finds all."""
    lacking = [(turn, call) for turn, seen in transcript.wire for call in seen.calls if call.unrecorded]
    if not lacking:
        return ""
    named = [f"turn {turn}, {_problem(call)}" for turn, call in lacking[:_LISTED]]
    more = [f"{len(lacking) - _LISTED:,} more"] if len(lacking) > _LISTED else []
    were, them = ("was", "it") if len(lacking) == 1 else ("were", "them")
    calls, which = counted(len(lacking), "model call"), "; ".join((*named, *more))
    return f"{calls} of the agent {were} not recorded: {which}; `only` will not find {them}"


def unrecorded_notes(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A line on each conversation, by its name, of which a recording lacks calls; the first few of many."""
    lacking = [f"{name}: {words}" for name, words in found if words]
    yield from lacking[:_LISTED]
    if len(lacking) > _LISTED:
        more = counted(len(lacking) - _LISTED, "more conversation")
        yield f"model calls of the agent were not recorded in {more}; `only` will not find them"


def _problem(call: ModelCall) -> str:
    return shorten(one_line(call.problem.partition("\n")[0].rstrip(":")), _NAME) or "no whole answer"


def _out_of_order(call: ModelCall) -> Iterator[str]:
    if call.fault:
        yield f"injected: {call.fault}"
    if call.problem and (call.lost or not call.fault):
        # What a recording lacks is said at length in the result's reason.
        problem = call.problem.partition("\n")[0].rstrip(":")
        yield f"{'failed, and no equal one was answered' if call.lost else 'failed'}: {problem}"


def _models(seen: WireSeen) -> str:
    return shorten(", ".join(map(one_line, seen.models)), _NAME)


def _replayed(seen: WireSeen) -> str:
    replayed = sum(call.replayed for call in seen.calls)
    if not replayed:
        return ""
    return " (replayed)" if replayed == len(seen.calls) else f" ({replayed:,} of them replayed)"
