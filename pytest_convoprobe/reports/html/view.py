"""A trial as the page shows it: words and texts, every one of them harmless, and no markup."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import Blame
from ...files import shown_path
from ...formatting import moment
from ...judging.types import CheckResult, CriterionResult
from ...llm.port import Role
from ...result import ScenarioResult, answer_word, reasons, report_order, second_votes
from ...results.records import TrialRecord
from ...start_time import in_words
from ...text import one_line, visible
from ..decisions import figures_in_words, sentence
from ..failure import BLAME_WORDS, MUST, NO_JUDGE, ending, suggestion_words, user_side_lines, without_judge
from ..paste_command import records_again, stored_words
from ..run_report import RunReport
from ..wire_lines import NO_CALL, made_no_call, unrecorded_calls
from .anchors import anchor, finding_anchor, turn_anchor
from .evidence import call_anchor, icon_of, marks_by_turn, word_of
from .quotes import marks
from .spending import cost_of, figures, times
from .turns import before, quotable, shown, talk

Texts = Mapping[int, list[tuple[str, str]]]
"""The parts of each turn that can be quoted, by their names."""


def details(report: RunReport, trial: TrialRecord) -> dict[str, Any]:
    """What is shown when a trial is unfolded."""
    result = trial.result
    facts = [*_facts(result), *_decided(report, result)]
    return {
        **judged(result),
        "facts": [[label, shown(text)] for label, text in facts],
        "changes": list(change_lines(report, result.scenario_id)),
        "cost": [cost_of(role, result) for role in Role if role in result.spending],
        "total": figures(result.total) if len(result.spending) > 1 else None,
        "times": times(result),
    }


def judged(result: ScenarioResult, id: str = "") -> dict[str, Any]:
    """What was said, and what was found: a trial without the run around it.

    `id` is its anchor, where that is not the trial's own: a page may show one trial of each of two runs.
    """
    id = id or anchor(result)
    criteria, checks = report_order(result)
    turns = talk(result.transcript)
    texts = {turn["n"]: list(quotable(turn)) for turn in turns}
    found = marks_by_turn(id, criteria, checks, turns)
    return {
        "id": id,
        "why": [shown(reason) for reason in reasons(result)],
        "criteria": [_criterion(id, one, texts) for one in criteria],
        "no_judge": f"{NO_JUDGE[:1].upper()}{NO_JUDGE[1:]}." if without_judge(result) else "",
        "checks": [_check(id, number, check) for number, check in enumerate(checks, 1)],
        "suggestions": list(_suggestions(result)),
        "turns": [{**_placed(id, turn), "evidence": found.get(turn["n"], ())} for turn in turns],
        "before": before(result.transcript),
        "ended": shown(ending(result)),
        "silent": bool(result.transcript.turns) and not result.transcript.reports_tools,
        "trace": shown(result.trace.rstrip()),
        "trace_title": "The judge's last reply" if result.blame is Blame.JUDGE else "Trace",
    }


def _placed(id: str, turn: dict[str, Any]) -> dict[str, Any]:
    """The turn and its calls with their anchors."""
    number = turn["n"]
    calls = [{**call, "id": call_anchor(id, number, place)} for place, call in enumerate(turn["calls"], 1)]
    return {**turn, "id": turn_anchor(id, number), "calls": calls}


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
    yield "Where", place_of(result)
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
    if words := stored_words(result):
        yield again, shlex.join(words)


def place_of(result: ScenarioResult) -> str:
    """`scenarios/orders.yaml:12`."""
    file = shown_path(result.file)
    return f"{file}:{result.line}" if result.line else file


def _decided(report: RunReport, result: ScenarioResult) -> Iterator[tuple[str, str]]:
    """What the gate decided about the scenario, with the figures for whoever wants to check it."""
    decision = report.decision(result)
    if decision is not None:
        yield "Gate", f"{decision.word.value}: {sentence(decision)}"
        yield "Gate, figures", figures_in_words(decision)
        for note in decision.notes:
            yield "Gate, note", one_line(note)


def _criterion(trial: str, found: CriterionResult, texts: Texts) -> dict[str, Any]:
    asked, votes = found.criterion, second_votes(found)
    place = marks(visible(found.quote), texts.get(_turn_of(found), ())) if found.quote else None
    return {
        "anchor": finding_anchor(trial, asked.id),
        "id": shown(asked.id),
        "kind": MUST[asked.kind] + (f" · {shown(asked.tool)}" if asked.tool else ""),
        "text": shown(asked.text),
        **_held(found.holds),
        "word": shown(answer_word(found.answer)),
        "finding": shown(f"{found.finding} ({votes})" if votes else found.finding),
        "quote": None if found.quote is None else shown(found.quote),
        **_in_turn(trial, found.turn),
        "place": place[0] if place else "",
        "marks": json.dumps(place[1]) if place else "[]",
    }


def _turn_of(found: CriterionResult) -> int:
    return -1 if found.turn is None else found.turn


def _check(trial: str, number: int, check: CheckResult) -> dict[str, Any]:
    return {
        "anchor": finding_anchor(trial, f"check-{number}"),
        "name": shown(check.name),
        **_held(check.holds),
        "expected": shown(check.expected),
        "found": shown(check.found),
        **_in_turn(trial, check.turn),
    }


def _held(holds: bool | None) -> dict[str, Any]:
    return {"holds": holds, "icon": icon_of(holds), "says": word_of(holds)}


def _in_turn(trial: str, number: int | None) -> dict[str, Any]:
    return {"turn": number, "to": None if number is None else turn_anchor(trial, number)}


def _suggestions(result: ScenarioResult) -> Iterator[list[str]]:
    """Pairs of a headline and a suggestion about the agent's tools; a note comes alone."""
    given = result.suggestions
    for one in given.found if given else ():
        yield [shown(suggestion_words(one)), shown(one.suggestion)]
    if given and given.note:
        yield [shown(one_line(given.note))]
