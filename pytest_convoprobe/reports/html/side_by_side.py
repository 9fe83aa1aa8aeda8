"""Two runs side by side: for each scenario that changed both conversations, and where they part. Pure.

`context` is for compare.html.jinja. A server that shows stored runs gives it `links`, by which the page leads
to the pages of both runs; each side also names the anchor that its trial has there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...results.compare import Change
from ...results.records import TrialRecord
from ...text import one_line, shorten, visible
from ..comparison import figures_of, gate_line, reason_of, run_name, statements, totals
from ..run_pair import RunPair, ScenarioPair
from .anchors import anchor, scenario_anchor
from .links import STANDS_ALONE, SiteLinks
from .turns import shown
from .view import judged, place_of

_ICONS = {
    Change.NEW_FAILURE: "failed",
    Change.FAILS_UNKNOWN: "failed",
    Change.WORSE: "failed",
    Change.NO_VERDICT: "error",
    Change.MISSING: "error",
    Change.FIXED: "passed",
    Change.BETTER: "passed",
    Change.FIRST_VERDICT: "passed",
    Change.ADDED: "passed",
}
_PARTS = {"user": "the user's message", "calls": "the calls of tools", "reply": "the agent's reply"}


@dataclass(frozen=True)
class TurnPair:
    """The turn of one number in both conversations; None where one has no such turn.

    `parts` names what differs: `user`, `calls`, `reply`. `first` is the first turn that differs.
    """

    base: Mapping[str, Any] | None
    head: Mapping[str, Any] | None
    parts: tuple[str, ...]
    first: bool = False

    @property
    def same(self) -> bool:
        return self.base is not None and self.head is not None and not self.parts

    @property
    def number(self) -> int:
        return int((self.base or self.head or {})["n"])

    @property
    def words(self) -> str:
        """`the agent's reply`, or which of the runs has the turn."""
        if self.base is None or self.head is None:
            return "only the later run has this turn" if self.base is None else "only the earlier run has it"
        return ", ".join(_PARTS[part] for part in self.parts)


def turn_pairs(
    base: Sequence[Mapping[str, Any]], head: Sequence[Mapping[str, Any]]
) -> tuple[tuple[TurnPair, ...], tuple[TurnPair, ...]]:
    """The turns that are the same at the beginning, and those from the first difference on."""
    before, after = ({turn["n"]: turn for turn in turns} for turns in (base, head))
    pairs = [_turn_pair(before.get(n), after.get(n)) for n in sorted(before.keys() | after.keys())]
    first = next((place for place, pair in enumerate(pairs) if not pair.same), len(pairs))
    rest = pairs[first:]
    return tuple(pairs[:first]), (*(replace(one, first=True) for one in rest[:1]), *rest[1:])


def _turn_pair(base: Mapping[str, Any] | None, head: Mapping[str, Any] | None) -> TurnPair:
    if base is None or head is None:
        return TurnPair(base, head, ())
    return TurnPair(base, head, tuple(part for part in _PARTS if _said(base, part) != _said(head, part)))


def _said(turn: Mapping[str, Any], part: str) -> Any:
    """What is compared of a part: times and ids differ from run to run."""
    if part != "calls":
        return turn[part]
    return [[call[name] for name in ("name", "args", "result", "failed", "about")] for call in turn["calls"]]


def context(pair: RunPair, links: SiteLinks = STANDS_ALONE) -> dict[str, Any]:
    """All that the template needs."""
    rows = [_row(one, pair, links) for one in pair.scenarios]
    return {
        "links": links,
        "title": totals(pair.comparison),
        "runs": [
            _run(pair.base.id, run_name(pair.base), links),
            _run(pair.head.id, run_name(pair.head), links),
        ],
        "gate": gate_line(pair.comparison, pair.fail_on),
        "closed": pair.comparison.fails(pair.fail_on),
        "statements": [shown(line) for line in statements(pair.comparison)],
        "warnings": [shown(note) for note in pair.notes],
        "kinds": _kinds(pair),
        "rows": rows,
        "same": [shown(one_line(one.name)) for one in pair.comparison.of(Change.SAME)],
    }


def _run(run: str, name: str, links: SiteLinks) -> dict[str, str]:
    return {"name": shown(one_line(name)), "address": links.run_of(run)}


def _kinds(pair: RunPair) -> list[tuple[str, str, int]]:
    """The kinds of change that there are, each with its symbol and how often."""
    counts = [(kind, len(pair.comparison.of(kind))) for kind in Change if kind is not Change.SAME]
    return [(kind.value, _ICONS.get(kind, "skipped"), count) for kind, count in counts if count]


def _row(one: ScenarioPair, pair: RunPair, links: SiteLinks) -> dict[str, Any]:
    change = one.change
    id = scenario_anchor(change.scenario_id)
    base = _side(one.base, f"{id}-before", links.run_of(pair.base.id))
    head = _side(one.head, f"{id}-now", links.run_of(pair.head.id))
    same, rest = turn_pairs(*([] if side is None else side["turns"] for side in (base, head)))
    if base is None or head is None:  # there is nothing that the conversation could differ from
        rest = tuple(replace(one, first=False) for one in rest)
    if base is not None and head is not None:
        base, same = _once(base, head, same)
    known = one.head or one.base
    return {
        "anchor": id,
        "kind": change.kind.value,
        "icon": _ICONS.get(change.kind, "skipped"),
        "name": shorten(shown(one_line(change.name)), 200),
        "place": shown(place_of(known.result)) if known else "",
        "figures": shown(figures_of(change)),
        "why": shorten(visible(reason_of(change)), 240),
        "changed": [shown(one_line(what)) for what in change.changed],
        "flipped": [shown(one_line(what)) for what in change.flipped],
        "sides": (base, head),
        "same": same,
        "rest": rest,
    }


def _once(
    base: Mapping[str, Any], head: Mapping[str, Any], same: Sequence[TurnPair]
) -> tuple[dict[str, Any], tuple[TurnPair, ...]]:
    """Turns that are the same are on the page once, with the later run's anchors and the marks of both."""
    numbers = {pair.number for pair in same}
    moved = {turn["n"]: turn["id"] for turn in head["turns"] if turn["n"] in numbers}
    findings = {
        name: [{**found, "to": moved.get(found["turn"], found["to"])} for found in base[name]]
        for name in ("criteria", "checks")
    }
    return {**base, **findings}, tuple(map(_with_marks_of_both, same))


def _with_marks_of_both(pair: TurnPair) -> TurnPair:
    if pair.base is None or pair.head is None:
        return pair
    now = pair.head["evidence"]
    known = {(mark.label, mark.icon) for mark in now}
    before = [
        replace(mark, label=f"{mark.label} (before)")
        for mark in pair.base["evidence"]
        if (mark.label, mark.icon) not in known and not mark.is_call
    ]
    return replace(pair, head={**pair.head, "evidence": [*now, *before]})


def _side(trial: TrialRecord | None, id: str, run: str) -> dict[str, Any] | None:
    """A trial as one of two; `address` is where its own page has it."""
    if trial is None:
        return None
    result = trial.result
    return {
        **judged(result, id),
        "outcome": result.outcome.value,
        "blame": result.blame.value if result.blame else "",
        "trial": result.trial,
        "address": f"{run}#{anchor(result)}" if run else "",
    }
