"""A trial as the page shows it: words and texts, every one of them harmless, and no markup."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import Blame
from ...excerpts import as_text, fitting, without_binary
from ...files import shown_path
from ...formatting import dollars, moment, seconds
from ...judging.transcript_view import asked_in, last_turn
from ...judging.types import CheckResult, CriterionResult
from ...llm.ledger import Spending
from ...llm.port import Role
from ...result import ScenarioResult, answer_word, report_order, second_votes, why
from ...results.records import TrialRecord
from ...start_time import in_words
from ...steps import AgentStep, answer_of, kind_word, names_agents, pending_steps, steps_of
from ...text import one_line, shorten, visible
from ...transcript import CallKind, Origin, PendingRequest, ToolCall, Transcript, Turn, WireSeen, not_kept
from ..decisions import figures_in_words, sentence
from ..failure import BLAME_WORDS, MUST, ending, suggestion_words, user_side_lines
from ..money import ROLE_NAMES, is_replayed
from ..paste_command import records_again, stored_words
from ..run_report import RunReport
from ..wire_lines import NO_CALL, ON_WIRE, made_no_call, model_lines, model_of, unrecorded_calls
from .quotes import marks

# A page with some megabytes in one element makes browsers stall.
LONGEST = 20_000
"""Characters of one text on the page; a longer one is cut, and the cut is marked."""

_ORIGINS = {Origin.INITIAL: "opening", Origin.SCRIPT: "scripted", Origin.SIMULATED: ""}


def details(report: RunReport, trial: TrialRecord) -> dict[str, Any]:
    """What is shown when a trial is unfolded, ready for JSON."""
    result = trial.result
    criteria, checks = report_order(result)
    named = names_agents(result.transcript)
    turns = [_turn(turn, named) for turn in result.transcript.turns]
    texts = {turn["n"]: list(_quotable(turn)) for turn in turns}
    pending = result.transcript.pending
    if pending is not None:
        texts[last_turn(result.transcript)] = [("user", shown(pending))]
    return {
        "why": shown(why(result)),
        "facts": [[label, shown(text)] for label, text in (*_facts(result), *_decided(report, result))],
        "changes": list(change_lines(report, result.scenario_id)),
        "criteria": [_criterion(found, texts) for found in criteria],
        "checks": [_check(check) for check in checks],
        "suggestions": list(_suggestions(result)),
        "turns": turns,
        "pending": _pending(result.transcript),
        "ended": shown(ending(result)),
        "silent": bool(result.transcript.turns) and not result.transcript.reports_tools,
        "cost": [_cost(role, result) for role in Role if role in result.spending],
        "total": figures(result.total) if len(result.spending) > 1 else None,
        "times": _times(result),
        "trace": shown(result.trace.rstrip()),
        "trace_title": "The judge's last reply" if result.blame is Blame.JUDGE else "Trace",
    }


def shown(text: str) -> str:
    """The text with invisible characters escaped; cut where it is too long for a page."""
    return shorten(visible(text), LONGEST)


def change_lines(report: RunReport, scenario_id: str) -> Iterator[str]:
    """What is different from the run before: the outcome, and what it rests on."""
    before = report.before(scenario_id)
    if before is None:
        return
    newly = report.newly(scenario_id)
    if newly is not None:
        was = "did not pass" if newly else "passed"
        yield f"{'fixed' if newly else 'new'}: it {was} in run {shown(before.run)}"
    for what in report.changed(scenario_id):
        yield f"{what} changed since run {shown(before.run)}"


def _facts(result: ScenarioResult) -> Iterator[tuple[str, str]]:
    file = shown_path(result.file)
    yield "Where", f"{file}:{result.line}" if result.line else file
    if result.blame is not None:
        yield "Blame", BLAME_WORDS[result.blame]
    if result.score is not None:
        yield "Score", f"{result.score:.2f}"
    if result.target:
        yield "Target", one_line(result.target)
    if began := moment(result.started):
        yield "Began", began
    for line in user_side_lines(result):
        yield "User", line
    if made_no_call(result.transcript):
        yield "Gateway", NO_CALL
    if lacking := unrecorded_calls(result.transcript):
        yield "Gateway", lacking
    if result.transcript.now is not None:
        yield "Date in it", in_words(result.transcript.now)
    again = "Record again" if records_again(result) else "Run again"
    yield again, shlex.join(stored_words(result))


def _decided(report: RunReport, result: ScenarioResult) -> Iterator[tuple[str, str]]:
    """What the gate decided about the scenario, with the figures for whoever wants to check it."""
    decision = report.decision(result)
    if decision is not None:
        yield "Gate", f"{decision.word.value}: {sentence(decision)}"
        yield "Gate, figures", figures_in_words(decision)
        for note in decision.notes:
            yield "Gate, note", one_line(note)


def _criterion(found: CriterionResult, texts: Mapping[int, list[tuple[str, str]]]) -> dict[str, Any]:
    asked, votes = found.criterion, second_votes(found)
    place = marks(visible(found.quote), texts.get(found.turn or 0, ())) if found.quote else None
    return {
        "id": shown(asked.id),
        "kind": MUST[asked.kind] + (f" · {shown(asked.tool)}" if asked.tool else ""),
        "text": shown(asked.text),
        "holds": found.holds,
        "word": shown(answer_word(found.answer)),
        "finding": shown(f"{found.finding} ({votes})" if votes else found.finding),
        "quote": None if found.quote is None else shown(found.quote),
        "turn": found.turn,
        "place": place[0] if place else None,
        "marks": list(place[1]) if place else [],
    }


def _pending(transcript: Transcript) -> dict[str, Any] | None:
    """The turn without a reply: its message, and the calls that were made for it."""
    if transcript.pending is None:
        return None
    named = names_agents(transcript)
    calls = [_step(step, named) for step in pending_steps(transcript)]
    turn = {"n": last_turn(transcript), "user": shown(transcript.pending)}
    turn |= _models(transcript.pending_wire)
    usage = transcript.pending_usage
    used = {"used": f"{usage.total:,} tokens were used for it"} if usage else {}
    return {**turn, **used, **({"calls": calls} if calls else {})}


def _check(check: CheckResult) -> dict[str, Any]:
    return {
        "name": shown(check.name),
        "holds": check.holds,
        "expected": shown(check.expected),
        "found": shown(check.found),
        "turn": check.turn,
    }


def _suggestions(result: ScenarioResult) -> Iterator[list[str]]:
    """Pairs of a headline and a suggestion about the agent's tools; a note comes alone."""
    given = result.suggestions
    for one in given.found if given else ():
        yield [shown(suggestion_words(one)), shown(one.suggestion)]
    if given and given.note:
        yield [shown(one_line(given.note))]


def _turn(turn: Turn, named: bool) -> dict[str, Any]:
    time = seconds(turn.latency) if turn.latency else ""
    return {**shown_turn(turn, named=named), "origin": _ORIGINS[turn.origin], "time": time}


def shown_turn(turn: Turn, *, named: bool = False) -> dict[str, Any]:
    """A turn as `parts.turn` of every page's script takes it; with `named`, it says which agent called."""
    return {
        "n": turn.number,
        "user": shown(fitting(turn.user, LONGEST)),
        "calls": [_step(step, named) for step in steps_of(turn.reply)],
        **_models(turn.reply.wire),
        **({"thoughts": shown(turn.reply.thoughts)} if turn.reply.thoughts else {}),
        "reply": shown(fitting(turn.reply.text, LONGEST)) + _note(turn.reply.cut),
    }


def _models(seen: WireSeen | None) -> dict[str, Any]:
    """Lines on the agent's own calls of models."""
    lines = [shown(line) for line in model_lines(seen)]
    return {"models": lines} if lines else {}


def _step(step: AgentStep, named: bool) -> dict[str, Any]:
    """A call, with what is out of the ordinary about it; or a request to a person, in the same shape."""
    if isinstance(step.what, PendingRequest):
        return _request(step.what)
    call, about = step.what, []
    if call.kind is not CallKind.TOOL:
        about.append(kind_word(call.kind))
    if named and call.agent:
        about.append(f"by {shown(one_line(call.agent))}")
    if call.on_wire:
        about.append(ON_WIRE)
    if call.fault:
        about.append(f"injected: {shown(one_line(call.fault))}")
    depth = {"depth": step.depth} if step.depth else {}
    return {**_call(call), **depth, **({"about": " · ".join(about)} if about else {})}


def _request(request: PendingRequest) -> dict[str, Any]:
    return {
        "name": "waits for a permission" if request.is_approval else "asks",
        "args": shown(asked_in(request)),
        "result": shown(answer_of(request)),
        "failed": False,
        "time": "",
        "request": True,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "name": shown(one_line(call.name)),
        "args": shown(_pretty(dict(call.arguments))),
        "result": shown(_outcome(call)) + _note(call.cut),
        "failed": call.failed,
        "time": seconds(call.latency) if call.latency is not None else "",
    }


def _note(cut: tuple[str, ...]) -> str:
    return f"\n({not_kept(cut)})" if cut else ""


def _outcome(call: ToolCall) -> str:
    if not call.executed:
        return _pretty(f"not carried out: {call.error}" if call.error else "not carried out")
    if call.error is not None:
        return _pretty(call.error)
    if call.is_unanswered:
        return "(no result was seen)"
    return "(not reported)" if "result" in call.unreported else _pretty(call.result)


def _pretty(value: Any) -> str:
    """Data as JSON on several lines, text as it is; binary content by its type and size."""
    value = without_binary(value)
    if len(as_text(value)) > LONGEST:
        return fitting(value, LONGEST)
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return as_text(value)


def _quotable(turn: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names and texts of a turn's parts. The reply comes first: most quotes are from there."""
    yield "reply", turn["reply"]
    yield "user", turn["user"]
    for number, call in enumerate(turn["calls"]):
        yield f"args {number}", call["args"]
        yield f"result {number}", call["result"]


def _cost(role: Role, result: ScenarioResult) -> dict[str, Any]:
    model = shown(model_of(result, role))
    return {"role": ROLE_NAMES[role], "model": model, **figures(result.spending[role])}


def figures(spent: Spending) -> dict[str, str]:
    """Calls, tokens and dollars, as text that fits a table."""
    retried = spent.attempts - spent.calls
    calls = "its own" if spent.is_agents_own else f"{spent.calls:,}"
    calls += f" (+{retried:,} retried)" if retried > 0 else ""
    if is_replayed(spent):
        calls += " replayed"
    elif spent.replayed:
        calls += f" ({spent.replayed:,} replayed)"
    usage = spent.usage
    return {
        "calls": calls,
        "in": f"{usage.prompt_tokens:,}",
        "out": f"{usage.completion_tokens:,}",
        "cost": dollars(spent.cost),
    }


def _times(result: ScenarioResult) -> list[list[str]]:
    """The whole trial, the target's share of it, and its slowest reply."""
    turns = [turn for turn in result.transcript.turns if turn.latency]
    times = [["Whole trial", seconds(result.duration)]]
    if turns:
        slowest = max(turns, key=lambda turn: turn.latency)
        total = sum(turn.latency for turn in turns)
        times.append(["Waiting for the target", f"{seconds(total)}, {seconds(total / len(turns))} a turn"])
        times.append(["Slowest reply", f"{seconds(slowest.latency)}, turn {slowest.number}"])
    return times
