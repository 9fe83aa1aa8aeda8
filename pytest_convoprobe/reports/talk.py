"""The conversation in a report: the turns that matter, the others folded to a count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..excerpts import whole_text
from ..judging.transcript_view import asked_in, call_line, last_turn
from ..result import ScenarioResult, findings
from ..steps import AgentStep, answer_of, kind_word, names_agents, pending_steps, steps_of
from ..text import one_line, shorten
from ..transcript import CallKind, PendingRequest, ToolCall, Transcript, Turn, WireSeen, not_kept
from .terminal_page import Page
from .wire_lines import ON_WIRE, model_lines

_FEW_TURNS = 3
_NAME = 60


@dataclass(frozen=True)
class Detail:
    """How much of each text is shown; None is all of it. `all_turns` folds none of them."""

    characters: int | None
    lines: int | None
    all_turns: bool

    @classmethod
    def of(cls, verbosity: int) -> Detail:
        """Less below `-v`, all turns at `-v`, everything at `-vv`."""
        if verbosity >= 2:
            return cls(None, None, True)
        return cls(2000, 40, True) if verbosity == 1 else cls(500, 10, False)

    def cut(self, text: str) -> str:
        """The text, shortened to what this detail allows, with a mark that counts the rest."""
        text = whole_text(text.strip("\n"))
        if self.lines is not None:
            text = re.sub(r"\n\s*\n(\s*\n)+", "\n\n", text)
            text = _first_lines(text, self.lines)
        return text if self.characters is None else shorten(text, self.characters)


def _first_lines(text: str, limit: int) -> str:
    lines = text.split("\n")
    if len(lines) <= limit:
        return text
    return "\n".join([*lines[:limit], f"… ({len(lines) - limit:,} more lines)"])


def add_conversation(page: Page, result: ScenarioResult, detail: Detail) -> None:
    """The turns of the conversation, and a message that got no reply."""
    transcript = result.transcript
    if not transcript.turns and transcript.pending is None:
        return
    _add_before(page, transcript, detail)
    page.title("Conversation")
    named = names_agents(transcript)
    shown = _all(transcript) if detail.all_turns else _turns_to_show(result)
    for piece in _folded(transcript.turns, shown):
        if isinstance(piece, int):
            page.add(
                f"… {piece} more {'turn' if piece == 1 else 'turns'} (-v shows them) …", "  ", color="faint"
            )
        else:
            _add_turn(page, piece, detail, named)
    if transcript.pending is not None:
        page.add(f"turn {last_turn(transcript)}", "  ", color="faint")
        if not transcript.awaits_greeting:
            _add_said(page, "user", detail.cut(transcript.pending))
        for step in pending_steps(transcript):
            _add_step(page, step, detail, named)
        _add_models(page, transcript.pending_wire, detail)
        if (usage := transcript.pending_usage) is not None:
            page.add(f"({usage.total:,} tokens were used for it)", "          ")
        page.add("(no reply came)", "    agent   ")


def add_said(page: Page, last: Transcript, detail: Detail) -> None:
    """What was said last: the message that waits for a reply, or else the reply of the last turn."""
    if last.pending is not None:
        # A greeting is awaited without a word of the user's.
        if not last.awaits_greeting:
            _add_said(page, "user", detail.cut(last.pending))
    elif last.turns:
        _add_reply(page, last.turns[-1], detail, names_agents(last))


def _add_before(page: Page, transcript: Transcript, detail: Detail) -> None:
    """What the scenario says was said before, so that nobody takes it for a part of the conversation."""
    if transcript.history:
        page.title("Before the conversation (no evidence)")
    for said in transcript.history:
        for call in said.tool_calls:
            page.add(detail.cut(call_line(call)), "    tool  │ ", "          │ ")
            page.add(detail.cut(_outcome(call)), "          │ → ", "          │   ")
        if said.text:
            _add_said(page, "agent" if said.by_agent else "user", detail.cut(said.text))


def _all(transcript: Transcript) -> set[int]:
    return {turn.number for turn in transcript.turns}


def _turns_to_show(result: ScenarioResult) -> set[int]:
    """The turns with evidence against a pass and their neighbours; without any, how the talk ended."""
    turns = result.transcript.turns
    if len(turns) <= _FEW_TURNS:
        return _all(result.transcript)
    judged = [item for item in findings(result) if item.holds is not True]
    evidence = {item.turn for item in judged if item.turn is not None}
    near = {number + step for number in evidence for step in (-1, 0, 1)}
    broke_off = result.transcript.pending is not None
    return near | {turn.number for turn in turns[-2:]} if broke_off or not evidence else near


def _folded(turns: Iterable[Turn], shown: set[int]) -> Iterator[Turn | int]:
    """The turns to show, and between them how many are left out."""
    hidden = 0
    for turn in turns:
        if turn.number not in shown:
            hidden += 1
            continue
        if hidden:
            yield hidden
        hidden = 0
        yield turn
    if hidden:
        yield hidden


def _add_turn(page: Page, turn: Turn, detail: Detail, named: bool) -> None:
    first = " (the agent speaks first)" if turn.is_greeting else ""
    page.add(f"turn {turn.number}{first}", "  ", color="faint")
    if not turn.is_greeting:
        _add_said(page, "user", detail.cut(turn.user))
    _add_reply(page, turn, detail, named)


def _add_reply(page: Page, turn: Turn, detail: Detail, named: bool) -> None:
    for step in steps_of(turn.reply):
        _add_step(page, step, detail, named)
    _add_models(page, turn.reply.wire, detail)
    if turn.reply.thoughts:
        _add_said(page, "agent", "(thoughts, not sent) " + detail.cut(turn.reply.thoughts))
    if turn.reply.text.strip():
        _add_said(page, "agent", detail.cut(turn.reply.text))
    else:
        page.add("(an empty reply)", "    agent   ")
    _add_cut(page, "agent", turn.reply.cut)


def _add_models(page: Page, seen: WireSeen | None, detail: Detail) -> None:
    """What the gateway saw of the agent's own calls to models."""
    for line in model_lines(seen):
        _add_said(page, "model", detail.cut(line))


def _add_cut(page: Page, who: str, parts: tuple[str, ...]) -> None:
    if parts:
        _add_said(page, who, f"({not_kept(parts)})")


def _add_step(page: Page, step: AgentStep, detail: Detail, named: bool) -> None:
    if isinstance(step.what, PendingRequest):
        _add_request(page, step.what, detail)
        return
    call, inside = step.what, "  " * step.depth
    by = f"{shorten(one_line(call.agent), _NAME)}: " if named and call.agent else ""
    kind = f"({kind_word(call.kind)}) " if call.kind is not CallKind.TOOL else ""
    seen = f"({ON_WIRE}) " if call.on_wire else ""
    page.add(by + kind + seen + detail.cut(call_line(call)), f"    tool  │ {inside}", f"          │ {inside}")
    page.add(detail.cut(_outcome(call)), f"          │ {inside}→ ", f"          │ {inside}  ")
    if call.fault:
        _add_said(page, "", f"{inside}(injected: {one_line(call.fault)})")
    _add_cut(page, "tool", call.cut)


def _add_request(page: Page, request: PendingRequest, detail: Detail) -> None:
    what = "asks for a permission" if request.is_approval else "asks"
    _add_said(page, "wait", f"{what}: {detail.cut(asked_in(request))}")
    page.add(detail.cut(answer_of(request)), "          │ → ", "          │   ")


def _outcome(call: ToolCall) -> str:
    if not call.executed:
        return f"not carried out: {call.error}" if call.error is not None else "not carried out"
    if call.error is not None:
        return f"error: {call.error}"
    if call.is_unanswered:
        return "(no result was seen)"
    return "(its result is not reported)" if "result" in call.unreported else whole_text(call.result)


def _add_said(page: Page, who: str, text: str) -> None:
    page.add(text, f"    {who:<5} │ ", "          │ ")
