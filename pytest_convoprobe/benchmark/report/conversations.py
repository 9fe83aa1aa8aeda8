"""What the page shows when it is opened: cells and scenarios as JSON, and conversations, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...judging.transcript_view import ENDINGS
from ...reports.html.frame import for_script
from ...reports.html.turns import shown, talk
from ...text import one_line
from ...transcript import Termination
from ..analysis.results import MetricInfo, Results
from ..format.models import MetricType
from ..rows.arrays import read_rows
from ..rows.row_types import ConversationRow, ScenarioRow
from ..rows.score_file import read_scores
from ..rows.transcript_of import in_turns
from .choice import ConversationPlace, ConversationVerdict, VerdictState
from .material import Material

Justifications = Mapping[tuple[str, str, int], str]
"""By metric, scenario and sample."""


def cell_id(results: Results, metric_id: str, target: str) -> str:
    """The element of a cell: `k0-1` is of the first metric and the second target."""
    row = [metric.id for metric in results.metrics].index(metric_id)
    column = [one.id for one in results.targets].index(target)
    return f"k{row}-{column}"


def elements(material: Material) -> Iterator[tuple[str, str]]:
    """The ids and the JSON of what the page's script asks for: scenarios and cells."""
    results = material.results
    if results is None:
        return
    scenarios = {name: number for number, name in enumerate(_scenario_ids(material), 1)}
    yield from _scenarios(material, scenarios)
    for target in results.targets:
        yield from _cells(material, results, target.id, scenarios)


def conversations(material: Material) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each conversation and its element's id; it is in memory only while it is written."""
    for target in material.results.targets if material.results else ():
        yield from _conversations(material, target.id)


def _scenario_ids(material: Material) -> dict[str, None]:
    return dict.fromkeys(place.id for place in material.chosen)


def _scenarios(material: Material, numbers: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Of scenarios that the file has more than once the last counts, as in the results."""
    found = {
        row.id: _scenario(row)
        for row in read_rows(material.folder.scenarios, ScenarioRow.from_json, [])
        if row.id in numbers
    }
    for row_id, scenario in found.items():
        yield f"s{numbers[row_id]}", for_script(scenario)


def _scenario(row: ScenarioRow) -> dict[str, Any]:
    marks = sorted(row.landmarks, key=lambda mark: mark.turn)
    return {
        "facts": [
            [label, shown(text)]
            for label, text in (
                ("Persona", row.persona),
                ("Goal", row.user_goal),
                ("Hidden goal", row.latent_adversarial_goal),
            )
            if text.strip()
        ],
        "landmarks": [[mark.turn, shown(mark.instruction)] for mark in marks],
        "system": shown(row.target_system_prompt or ""),
    }


def _cells(
    material: Material, results: Results, target: str, scenarios: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    why = _justifications(material, target)
    for metric in results.metrics:
        found = material.shown.get((metric.id, target), ())
        entries = [_entry(material, verdict, metric, scenarios, why) for verdict in found]
        yield cell_id(results, metric.id, target), for_script(entries)


def _justifications(material: Material, target: str) -> Justifications:
    """Those of conversations in the page; of two scores of one conversation and metric the last counts."""
    return {
        (score.metric_id, score.id, score.sample): shown(score.justification)
        for score in read_scores(material.folder, target, [])
        if ConversationPlace(target, score.id, score.sample) in material.chosen
    }


def _entry(
    material: Material,
    verdict: ConversationVerdict,
    metric: MetricInfo,
    scenarios: Mapping[str, int],
    why: Justifications,
) -> dict[str, Any]:
    row_id = verdict.shown.id
    return {
        "n": material.chosen[verdict.place],
        "s": scenarios[row_id],
        "id": shown(one_line(row_id)),
        "sample": verdict.sample,
        "state": verdict.state.value,
        "verdict": _in_words(verdict.state, metric.type),
        "why": why.get((verdict.metric_id, row_id, verdict.sample), ""),
        "person": [
            [shown(one_line(name)), shown(one_line(value))] for name, value in verdict.shown.demographic
        ],
        "file": f"runs/{shown(one_line(verdict.target))}/conversations.json",
    }


def _in_words(state: VerdictState, kind: MetricType) -> str:
    """What was found, and what that means for a metric of this type."""
    if state is VerdictState.UNREADABLE:
        return "The evaluator's answer could not be read"
    if state is VerdictState.UNSCORED:
        return "Not evaluated"
    present = kind.passes(True) is (state is VerdictState.PASSED)
    wanted = "is wanted" if kind is MetricType.POSITIVE else "is not wanted"
    return f"The behaviour, which {wanted}, is {'present' if present else 'absent'}"


def _conversations(material: Material, target: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read until all that are wanted are found; of one that is there more than once the first is taken."""
    wanted = {place: number for place, number in material.chosen.items() if place.target == target}
    rows = read_rows(material.folder.conversations(target), ConversationRow.from_json, [])
    while wanted and (row := next(rows, None)) is not None:
        number = wanted.pop(ConversationPlace(target, row.id, row.sample), None)
        if number is not None:
            yield f"c{number}", _conversation(row)


def _conversation(row: ConversationRow) -> dict[str, Any]:
    return {"turns": talk(in_turns(row.messages)), "ended": _ended(row.termination)}


def _ended(termination: str) -> str:
    try:
        return f"The conversation ended: {ENDINGS[Termination(termination)]}."
    except ValueError:
        return f"The conversation ended: {shown(one_line(termination))}." if termination else ""
