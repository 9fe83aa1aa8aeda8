"""One finished trial as a line of JSON, and back.

The shape is version 1 of docs/reference/results.md. A reader ignores keys that it doesn't know and gives
missing ones their defaults, so what an older release wrote stays readable.
"""

from __future__ import annotations

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
    Severity,
    Shows,
    Suggestion,
    ToolSuggestions,
    UserReview,
    Vote,
)
from ..llm.ledger import Spending
from ..llm.port import Role
from ..result import Outcome, ScenarioResult
from .fingerprints import NO_PRINTS, Prints
from .plain_json import as_float, as_text, as_whole, number
from .plain_json import plain as plain
from .talk_records import read_transcript, transcript_record
from .wire_records import read_usage, usage_record

VERSION = 1


@dataclass(frozen=True)
class TrialRecord:
    """A stored trial. `worker` is the process that ran it: `main`, or xdist's `gw0`, `gw1`…"""

    result: ScenarioResult
    prints: Prints = NO_PRINTS
    worker: str = "main"


def to_record(result: ScenarioResult, prints: Prints, *, worker: str = "main") -> dict[str, Any]:
    """The trial as plain dicts, lists, text and numbers that JSON can hold; nothing is masked here."""
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
        "criteria": [_criterion(found) for found in result.criteria],
        "checks": [_check(found) for found in result.checks],
        # What came later than the format is left out where it has its default: other trials look as they did.
        **({"review": _review(result.review)} if result.review else {}),
        **({"suggestions": _suggestions(result.suggestions)} if result.suggestions else {}),
        "transcript": transcript_record(result.transcript),
        **({"attempts": result.attempts} if result.attempts > 1 else {}),
        **({"unmatched_tools": list(result.unmatched_tools)} if result.unmatched_tools else {}),
        **_of_several(result),
    }


def _of_several(result: ScenarioResult) -> dict[str, str]:
    """Which one of several targets it was."""
    return {"target_name": result.target_name, "base_id": result.base_id} if result.target_name else {}


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


def spending_record(spent: Spending) -> dict[str, Any]:
    """What was spent as plain data."""
    return {
        "calls": spent.calls,
        "attempts": spent.attempts,
        "replayed": spent.replayed,
        **usage_record(spent.usage),
        "cost": number(spent.cost),
    }


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


def _suggestions(given: ToolSuggestions) -> dict[str, Any]:
    return {"found": [one.to_json() for one in given.found], "note": given.note}


def _result(data: Mapping[str, Any]) -> ScenarioResult:
    return ScenarioResult(
        name=as_text(data["name"]),
        scenario_id=as_text(data["scenario_id"]),
        file=as_text(data.get("file", "")),
        line=as_whole(data.get("line", 0)),
        outcome=Outcome(data["outcome"]),
        reason=as_text(data.get("reason", "")),
        blame=Blame(data["blame"]) if data.get("blame") else None,
        trace=as_text(data.get("trace", "")),
        score=as_float(data.get("score")),
        transcript=read_transcript(data.get("transcript") or {}),
        criteria=tuple(_read_criterion(found) for found in data.get("criteria", ())),
        checks=tuple(_read_check(found) for found in data.get("checks", ())),
        spending={Role(role): read_spending(spent) for role, spent in data.get("spending", {}).items()},
        trial=as_whole(data.get("trial", 1)),
        started=as_float(data.get("started")) or 0.0,
        duration=as_float(data.get("duration")) or 0.0,
        target=as_text(data.get("target", "")),
        models={Role(role): model for role, model in data.get("models", {}).items()},
        tags=tuple(map(as_text, data.get("tags", ()))),
        attempts=as_whole(data.get("attempts", 1)),
        unmatched_tools=tuple(map(as_text, data.get("unmatched_tools", ()))),
        review=_read_review(data["review"]) if data.get("review") else None,
        suggestions=_read_suggestions(data["suggestions"]) if data.get("suggestions") else None,
        target_name=as_text(data.get("target_name", "")),
    )


def read_spending(data: Mapping[str, Any]) -> Spending:
    """What `spending_record` gave."""
    return Spending(
        calls=data.get("calls", 0),
        attempts=data.get("attempts", 0),
        replayed=data.get("replayed", 0),
        usage=read_usage(data),
        cost=as_float(data.get("cost")),
    )


def _read_criterion(data: Mapping[str, Any]) -> CriterionResult:
    asked = Criterion(
        data["id"],
        CriterionKind(data["kind"]),
        as_text(data.get("text", "")),
        data.get("tool"),
        About(data["about"]) if data.get("about") else None,
        Shows(data["shows"]) if data.get("shows") else None,
        data.get("opposite"),
    )
    return CriterionResult(
        criterion=asked,
        answer=as_text(data.get("answer", "")),
        holds=data.get("holds"),
        finding=as_text(data.get("finding", "")),
        quote=data.get("quote"),
        turn=data.get("turn"),
        votes=tuple(map(_read_vote, data.get("votes", ()))),
        score=data.get("score"),
    )


def _read_vote(data: Mapping[str, Any]) -> Vote:
    return Vote(
        answer=as_text(data.get("answer", "")),
        holds=data.get("holds"),
        finding=as_text(data.get("finding", "")),
        quote=data.get("quote"),
        turn=data.get("turn"),
        model=as_text(data.get("model", "")),
        asked=as_text(data.get("asked", "statement")),
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
    never_said = tuple(map(as_text, data.get("never_said", ())))
    return UserReview(as_text(data.get("hindered", "")), as_text(data.get("note", "")), never_said)


def _read_suggestions(data: Mapping[str, Any]) -> ToolSuggestions:
    found = (
        Suggestion(
            as_text(one.get("category", "")),
            as_text(one.get("tool", "")),
            as_text(one.get("issue", "")),
            as_text(one.get("suggestion", "")),
            Severity(one.get("severity", Severity.MEDIUM.value)),
        )
        for one in data.get("found", ())
    )
    return ToolSuggestions(tuple(found), as_text(data.get("note", "")))
