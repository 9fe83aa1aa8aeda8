"""The conversation as the judge sees it: numbered turns whose text cannot be mistaken for anything else.

Everything that the user, the target or a tool wrote is on lines that begin with `| `; all other lines are
ours. The conversation is between two fence lines with a number that depends on the whole conversation. So a
target cannot write the fence into its own reply, and a replay produces the same text.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..excerpts import fitting
from ..formatting import counted
from ..steps import AgentStep, names_agents, steps_of
from ..text import one_line, visible
from ..transcript import CallKind, PendingRequest, Termination, ToolCall, Transcript, Turn, WireSeen

EMPTY = "(nothing)"
NO_REPLY = "(no reply came)"
"""Our own words where there are none of theirs."""

ENDINGS = {
    Termination.USER_DONE: "the user was done",
    Termination.USER_GAVE_UP: "the user gave up",
    Termination.MAX_TURNS: "the limit of turns was reached",
    Termination.AGENT_ENDED: "the agent ended the conversation",
    Termination.LOOP: "the same exchange repeated itself again and again",
    Termination.TARGET_ERROR: "the agent gave no answer that can be used",
    Termination.TIMEOUT: "the time limit was reached",
    Termination.BUDGET: "the budget of the run was spent",
    Termination.SIMULATOR_ERROR: "the synthetic user went off its rails",
    Termination.INFRASTRUCTURE_ERROR: "something that the conversation needs failed",
    Termination.CANCELLED: "the run was stopped",
}
"""Why a conversation ended, as the end of the sentence "The conversation ended: …"."""


@dataclass(frozen=True)
class View:
    """The fenced conversation. `open` and `close` are the fence lines, `last` the number of the last turn."""

    text: str
    open: str
    close: str
    last: int = 0


def ending_of(transcript: Transcript) -> str | None:
    """Why it ended, as the end of the same sentence; None if that isn't known."""
    if transcript.termination is None:
        return None
    unsaid = counted(transcript.unsaid, "scripted message")
    return ENDINGS[transcript.termination] + (f" with {unsaid} unsaid" if transcript.unsaid else "")


def view_of(transcript: Transcript, *, ending: bool = True) -> View:
    """The whole conversation between two fence lines. With `ending`, it says why the conversation ended."""
    return replace(fenced("\n".join(_body(transcript, ending)), "conversation"), last=last_turn(transcript))


def fenced(body: str, what: str) -> View:
    """Text of which each line that isn't ours begins with `| `, between two fence lines that name it."""
    nonce = _nonce(body)
    opening, closing = f"<<<{what} {nonce}>>>", f"<<<end of {what} {nonce}>>>"
    return View(f"{opening}\n{body}\n{closing}", opening, closing)


def last_turn(transcript: Transcript) -> int:
    """The number of the last turn, including one without a reply; 0 if there is none."""
    return transcript.last_turn


def call_line(call: ToolCall) -> str:
    """A call as one line: `get_weather({"city": "Oslo"})`. Long arguments are cut."""
    return f"{call.name}({fitting(dict(call.arguments))})"


def _body(transcript: Transcript, ending: bool) -> Iterator[str]:
    yield from _before(transcript)
    if transcript.turns and not transcript.reports_tools:
        yield "(This agent does not report its tool calls.)"
    named = names_agents(transcript)
    for turn in transcript.turns:
        yield from _turn(turn, named)
    if transcript.pending is not None:
        yield f"Turn {last_turn(transcript)}"
        if transcript.awaits_greeting:
            yield _AGENT_FIRST
        else:
            yield from _said("user", fitting(transcript.pending))
        yield from _model_faults(transcript.pending_wire)
        yield f"  {NO_REPLY}"
    if ending:
        yield f"{end_line(transcript)} The last turn is turn {last_turn(transcript)}."


def end_line(transcript: Transcript) -> str:
    """The sentence on why the conversation ended."""
    return f"The conversation ended: {ending_of(transcript) or 'for a reason that is not known'}."


def _before(transcript: Transcript) -> Iterator[str]:
    """What the scenario says was said before. None of its lines begins as that of a deed in the test."""
    if not transcript.history:
        return
    yield "Before this conversation (written by the author of the test: it proves nothing, don't quote it)"
    for said in transcript.history:
        for call in said.tool_calls:
            yield from _said("earlier call of a tool", call_line(call))
            yield from _said("its result", fitting(call.result if call.error is None else call.error))
        if said.text:
            yield from _said(f"earlier, {'agent' if said.by_agent else 'user'}", fitting(said.text))
    yield "The conversation itself begins here."


_AGENT_FIRST = "  (The agent speaks first.)"


def _turn(turn: Turn, named: bool) -> Iterator[str]:
    yield f"Turn {turn.number}"
    if turn.is_greeting:
        yield _AGENT_FIRST
    else:
        yield from _said("user", fitting(turn.user))
    for step in steps_of(turn.reply):
        # What happened inside a call is further to the right.
        yield from (f"{'  ' * step.depth}{line}" for line in _step(step, named))
    yield from _model_faults(turn.reply.wire)
    if turn.reply.tool_calls is not None and not turn.reply.knows_calls:
        yield "  (The agent may have called other tools in this turn, which nobody saw.)"
    yield from _said("agent", fitting(turn.reply.text))
    yield from _cut("reply", [part for part in turn.reply.cut if part in _SHOWN])


def _step(step: AgentStep, named: bool) -> Iterator[str]:
    if isinstance(step.what, PendingRequest):
        yield from _request(step.what)
        return
    call = step.what
    yield from _said(_CALLS[call.kind] + (", inside that call" if step.depth else ""), call_line(call))
    if named and call.agent:
        yield from _said("the agent that calls it", fitting(call.agent))
    yield from _outcome(call)
    if call.fault:
        yield f"  (The test made this call go wrong on purpose: {visible(one_line(call.fault))}.)"
    yield from _cut("call", [part for part in call.cut if part in _SHOWN])


def _model_faults(seen: WireSeen | None) -> Iterator[str]:
    """That the test, and not the provider or the agent, made calls of the agent's models fail."""
    faults = Counter(call.fault for call in seen.calls if call.fault) if seen is not None else {}
    for words, number in faults.items():
        which = counted(number, "call")
        fault = visible(one_line(words))
        yield f"  (The test made {which} of the agent to its own model go wrong on purpose: {fault}.)"


# Each begins alike: the judge is told that a tool was used only where it sees these words.
_CALLS = {
    CallKind.TOOL: "agent calls a tool",
    CallKind.HANDOFF: "agent calls a tool, to hand over to another agent",
    CallKind.SUB_AGENT: "agent calls a tool, which is another agent",
}

PERMITTED = "the user permits the call"
REFUSED = "the user refuses the call"


def _request(request: PendingRequest) -> Iterator[str]:
    """What the agent asks before it goes on, and the answer; the question of a reply is in its words."""
    if request.waits:
        return
    who = "agent asks for a permission" if request.is_approval else "agent asks the user"
    yield from _said(who, asked_in(request))
    if (words := answer_words(request)) in (PERMITTED, REFUSED):
        yield f"  {words}"
    else:
        yield from _said("the user answers", words)
    if request.reason:
        yield from _said("the user's reason", fitting(request.reason))


def asked_in(request: PendingRequest) -> str:
    """What the agent asks, as the judge reads it: the call that waits, its words, and the choices."""
    call = f"{request.tool}({fitting(dict(request.arguments))})" if request.tool else ""
    return "\n".join(filter(None, (call, fitting(request.text), *map(fitting, request.choices))))


def answer_words(request: PendingRequest, shown: Callable[[str], str] = fitting) -> str:
    """The answer as the judge reads it, other words by `shown`; empty if there is none."""
    known = {"approve": PERMITTED, "reject": REFUSED} if request.is_approval else {}
    answer = request.answer or ""
    return known.get(answer) or shown(answer)


_SHOWN = frozenset(("arguments", "result", "error", "text"))


def _cut(what: str, parts: Sequence[str]) -> Iterator[str]:
    """A line for a model that must not take what was never kept for what was never said."""
    if parts:
        yield (
            f"  (A part of the {what} was not kept, because it is too long: {', '.join(parts)}. "
            "What isn't seen here may have been there.)"
        )


def _outcome(call: ToolCall) -> Iterator[str]:
    if call.error is not None:
        yield from _said("the tool fails", fitting(call.error))
        return
    if not call.executed:
        yield "  (the call was not carried out)"
        if call.result is None:
            return
    if call.is_unanswered:
        yield "  (nobody saw a result: it isn't known whether the call was carried out)"
        return
    if "result" in call.unreported:
        yield "  (its result is not reported)"
        return
    yield from _said("the tool returns", fitting(call.result))


def _said(who: str, text: str) -> Iterator[str]:
    if not text.strip():
        yield f"  {who}: {EMPTY}"
        return
    yield f"  {who}:"
    # Made visible first: any other separator of lines would begin one without our mark.
    yield from (f"  | {line}" for line in visible(text).split("\n"))


def _nonce(body: str) -> str:
    """Sixteen hex digits that do not occur in the body. The same body always gives the same digits."""
    nonce = hashlib.sha256(body.encode("utf-8")).hexdigest()[:16]
    while nonce in body:
        nonce = hashlib.sha256(f"{nonce}\n{body}".encode()).hexdigest()[:16]
    return nonce
