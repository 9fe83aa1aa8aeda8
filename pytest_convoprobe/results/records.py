"""One finished trial as a line of JSON, and back.

The shape is version 1 of docs/reference/results.md. A reader ignores keys that it doesn't know and gives
missing ones their defaults, so what an older release wrote stays readable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import Blame, ResultsError
from ..judging.types import (
    About,
    CheckResult,
    Criterion,
    CriterionKind,
    CriterionResult,
    Shows,
    UserReview,
    Vote,
)
from ..llm.ledger import Spending
from ..llm.port import Role
from ..result import Outcome, ScenarioResult, report_order
from ..start_time import read_time
from ..transcript import Origin, Reply, Termination, ToolCall, Transcript, Turn, Usage
from .fingerprints import NO_PRINTS, Prints

VERSION = 1

_DEEPEST = 40
_MOST_BITS = 4096


@dataclass(frozen=True)
class TrialRecord:
    """A stored trial. `worker` is the process that ran it: `main`, or xdist's `gw0`, `gw1`…"""

    result: ScenarioResult
    prints: Prints = NO_PRINTS
    worker: str = "main"


def to_record(result: ScenarioResult, prints: Prints, *, worker: str = "main") -> dict[str, Any]:
    """The trial as plain dicts, lists, text and numbers that JSON can hold; nothing is masked here."""
    criteria, checks = report_order(result)
    return {
        "version": VERSION,
        "worker": worker,
        "prints": prints.to_json(),
        "name": result.name,
        "scenario_id": result.scenario_id,
        "file": result.file,
        "line": result.line,
        "trial": result.trial,
        "tags": list(result.tags),
        "outcome": result.outcome.value,
        "reason": result.reason,
        "blame": result.blame.value if result.blame else None,
        "trace": result.trace,
        "score": number(result.score),
        "started": number(result.started),
        "duration": number(result.duration),
        "target": result.target,
        "models": {role.value: model for role, model in result.models.items()},
        "spending": {role.value: spending_record(spent) for role, spent in result.spending.items()},
        "criteria": [_criterion(found) for found in criteria],
        "checks": [_check(found) for found in checks],
        # What came later than the format is left out where it has its default: other trials look as they did.
        **({"review": _review(result.review)} if result.review else {}),
        "transcript": _transcript(result.transcript),
        **({"attempts": result.attempts} if result.attempts > 1 else {}),
        **({"unmatched_tools": list(result.unmatched_tools)} if result.unmatched_tools else {}),
    }


def from_record(data: Mapping[str, Any]) -> TrialRecord:
    """The trial that `to_record` gave. Raises `ResultsError` for other data, and for later versions."""
    version = data.get("version", 1) if isinstance(data, Mapping) else None
    if not isinstance(version, int):
        raise ResultsError("not a stored trial")
    if version > VERSION:
        raise ResultsError(
            f"it has version {version} of the format, this release reads up to {VERSION}; "
            "read it with the release that wrote it, or a later one"
        )
    try:
        return TrialRecord(_result(data), Prints.from_json(data.get("prints")), data.get("worker", "main"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultsError(f"not a stored trial ({type(error).__name__}: {error})") from None


def plain(value: Any, depth: int = 0) -> Any:
    """What a target or a tool gave, as JSON: what JSON can't hold is written as text.

    Numbers that are not finite become `"NaN"`, `"Infinity"` and `"-Infinity"`; what is nested
    deeper than 40 levels is cut.
    """
    if value is None or isinstance(value, (str, bool)):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MOST_BITS else hex(value)
    if isinstance(value, float):
        return number(value)
    if depth >= _DEEPEST:
        return "… (nested too deeply to be stored)"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    # The results of a run hold plain data only; other programs may make their own.
    return str(value)


def number(value: float | None) -> float | str | None:
    """JSON has no word for numbers that are not finite."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def spending_record(spent: Spending) -> dict[str, Any]:
    """What was spent as plain data."""
    return {
        "calls": spent.calls,
        "attempts": spent.attempts,
        "replayed": spent.replayed,
        **_usage(spent.usage),
        "cost": number(spent.cost),
    }


def _usage(usage: Usage) -> dict[str, int]:
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}


def _criterion(found: CriterionResult) -> dict[str, Any]:
    asked = found.criterion
    return {
        "id": asked.id,
        "kind": asked.kind.value,
        "text": asked.text,
        "tool": asked.tool,
        "answer": found.answer,
        "holds": found.holds,
        "finding": found.finding,
        "quote": found.quote,
        "turn": found.turn,
        **_asked_for(asked),
        **({"votes": [asdict(vote) for vote in found.votes]} if found.votes else {}),
        **({} if found.score is None else {"score": number(found.score)}),
    }


def _asked_for(asked: Criterion) -> dict[str, str]:
    """What is known of a criterion besides its text."""
    known = {
        "about": asked.about and asked.about.value,
        "shows": asked.shows and asked.shows.value,
        "opposite": asked.opposite,
    }
    return {name: value for name, value in known.items() if value}


def _check(found: CheckResult) -> dict[str, Any]:
    return {
        "name": found.name,
        "holds": found.holds,
        "expected": found.expected,
        "found": found.found,
        "turn": found.turn,
    }


def _review(review: UserReview) -> dict[str, Any]:
    return {"hindered": review.hindered, "note": review.note, "never_said": list(review.never_said)}


def _transcript(transcript: Transcript) -> dict[str, Any]:
    # Rare fields are left out where they have their default: files of other conversations stay as they were.
    pending_calls = [_tool_call(call) for call in transcript.pending_calls]
    return {
        **({"unsaid": transcript.unsaid} if transcript.unsaid else {}),
        **({"now": transcript.now.isoformat()} if transcript.now else {}),
        "termination": transcript.termination.value if transcript.termination else None,
        "pending": transcript.pending,
        **({"pending_calls": pending_calls} if pending_calls else {}),
        "turns": [_turn(turn) for turn in transcript.turns],
    }


def _turn(turn: Turn) -> dict[str, Any]:
    reply = turn.reply
    return {
        **({"ended": True} if reply.ended else {}),
        "number": turn.number,
        "origin": turn.origin.value,
        "user": turn.user,
        "reply": reply.text,
        **({"thoughts": reply.thoughts} if reply.thoughts else {}),
        **({"cut": list(reply.cut)} if reply.cut else {}),
        "latency": number(turn.latency),
        "usage": _usage(reply.usage) if reply.usage else None,
        "tool_calls": None if reply.tool_calls is None else [_tool_call(call) for call in reply.tool_calls],
    }


def _tool_call(call: ToolCall) -> dict[str, Any]:
    # Only what is out of the ordinary: so the trials of earlier releases and today's look the same.
    unusual: dict[str, Any] = {} if call.executed else {"executed": False}
    for key, parts in (("unreported", call.unreported), ("cut", call.cut)):
        if parts:
            unusual[key] = list(parts)
    return {
        "name": call.name,
        "arguments": plain(call.arguments),
        "result": plain(call.result),
        "error": call.error,
        "latency": number(call.latency),
        **unusual,
    }


def _result(data: Mapping[str, Any]) -> ScenarioResult:
    return ScenarioResult(
        name=_text(data["name"]),
        scenario_id=_text(data["scenario_id"]),
        file=_text(data.get("file", "")),
        line=_whole(data.get("line", 0)),
        outcome=Outcome(data["outcome"]),
        reason=_text(data.get("reason", "")),
        blame=Blame(data["blame"]) if data.get("blame") else None,
        trace=_text(data.get("trace", "")),
        score=_float(data.get("score")),
        transcript=_read_transcript(data.get("transcript") or {}),
        criteria=tuple(_read_criterion(found) for found in data.get("criteria", ())),
        checks=tuple(_read_check(found) for found in data.get("checks", ())),
        spending={Role(role): read_spending(spent) for role, spent in data.get("spending", {}).items()},
        trial=_whole(data.get("trial", 1)),
        started=_float(data.get("started")) or 0.0,
        duration=_float(data.get("duration")) or 0.0,
        target=_text(data.get("target", "")),
        models={Role(role): model for role, model in data.get("models", {}).items()},
        tags=tuple(map(_text, data.get("tags", ()))),
        attempts=_whole(data.get("attempts", 1)),
        unmatched_tools=tuple(map(_text, data.get("unmatched_tools", ()))),
        review=_read_review(data["review"]) if data.get("review") else None,
    )


def _text(value: Any) -> str:
    """Anything else would break a reader much later, in the middle of a list of good trials."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r:.40} is not a whole number")
    return value


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def read_spending(data: Mapping[str, Any]) -> Spending:
    """What `spending_record` gave."""
    return Spending(
        calls=data.get("calls", 0),
        attempts=data.get("attempts", 0),
        replayed=data.get("replayed", 0),
        usage=_read_usage(data),
        cost=_float(data.get("cost")),
    )


def _read_usage(data: Mapping[str, Any]) -> Usage:
    return Usage(data.get("prompt_tokens", 0), data.get("completion_tokens", 0))


def _read_criterion(data: Mapping[str, Any]) -> CriterionResult:
    asked = Criterion(
        data["id"],
        CriterionKind(data["kind"]),
        _text(data.get("text", "")),
        data.get("tool"),
        About(data["about"]) if data.get("about") else None,
        Shows(data["shows"]) if data.get("shows") else None,
        data.get("opposite"),
    )
    return CriterionResult(
        criterion=asked,
        answer=_text(data.get("answer", "")),
        holds=data.get("holds"),
        finding=_text(data.get("finding", "")),
        quote=data.get("quote"),
        turn=data.get("turn"),
        votes=tuple(map(_read_vote, data.get("votes", ()))),
        score=data.get("score"),
    )


def _read_vote(data: Mapping[str, Any]) -> Vote:
    return Vote(
        answer=_text(data.get("answer", "")),
        holds=data.get("holds"),
        finding=_text(data.get("finding", "")),
        quote=data.get("quote"),
        turn=data.get("turn"),
        model=_text(data.get("model", "")),
        asked=_text(data.get("asked", "statement")),
    )


def _read_check(data: Mapping[str, Any]) -> CheckResult:
    """A check of the project's own may have said anything."""
    return CheckResult(
        name=str(data["name"]),
        holds=bool(data["holds"]),
        expected=str(data.get("expected", "")),
        found=str(data.get("found", "")),
        turn=data.get("turn"),
    )


def _read_review(data: Mapping[str, Any]) -> UserReview:
    never_said = tuple(map(_text, data.get("never_said", ())))
    return UserReview(_text(data.get("hindered", "")), _text(data.get("note", "")), never_said)


def _read_transcript(data: Mapping[str, Any]) -> Transcript:
    return Transcript(
        turns=tuple(_read_turn(turn) for turn in data.get("turns", ())),
        termination=Termination(data["termination"]) if data.get("termination") else None,
        pending=data.get("pending"),
        unsaid=_whole(data.get("unsaid", 0)),
        now=read_time(data["now"]) if data.get("now") else None,
        pending_calls=tuple(_read_tool_call(call) for call in data.get("pending_calls", ())),
    )


def _read_turn(data: Mapping[str, Any]) -> Turn:
    calls, usage = data.get("tool_calls"), data.get("usage")
    reply = Reply(
        text=_text(data.get("reply", "")),
        tool_calls=None if calls is None else tuple(_read_tool_call(call) for call in calls),
        usage=_read_usage(usage) if usage else None,
        ended=bool(data.get("ended", False)),
        thoughts=_text(data.get("thoughts", "")),
        cut=tuple(map(_text, data.get("cut", ()))),
    )
    origin = Origin(data.get("origin", Origin.SIMULATED.value))
    latency = _float(data.get("latency")) or 0.0
    return Turn(_whole(data["number"]), _text(data["user"]), reply, origin, latency)


def _read_tool_call(data: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        name=str(data["name"]),
        arguments=data.get("arguments", {}),
        result=data.get("result"),
        error=data.get("error"),
        latency=_float(data.get("latency")),
        executed=data.get("executed") is not False,
        unreported=tuple(map(_text, data.get("unreported", ()))),
        cut=tuple(map(_text, data.get("cut", ()))),
    )
