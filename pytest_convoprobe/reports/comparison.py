"""What changed between two runs, as text: for `convoprobe compare` and a run with a baseline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ..formatting import counted, dollars, number, p_equals, points, points_range, seconds
from ..results.compare import CLOSING, Change, Comparison, FailOn, ScenarioChange, ScenarioInRun
from ..results.run_info import RunInfo
from ..stats import Interval
from ..text import one_line, shorten
from .terminal_page import Page

_COLORS = {
    Change.NEW_FAILURE: "red",
    Change.FAILS_UNKNOWN: "red",
    Change.NO_VERDICT: "yellow",
    Change.MISSING: "yellow",
    Change.WORSE: "yellow",
    Change.FIXED: "green",
    Change.BETTER: "green",
}
LISTED = tuple(_COLORS)
"""The kinds that have a row for each scenario, the most serious first."""
_NAMED = (Change.FIRST_VERDICT, Change.ADDED, Change.REMOVED, Change.NOT_RUN)
_EXPLAINED = (*CLOSING, Change.WORSE)
_REASON = 300
_MOST_CHANGES = 8
# A smaller change of a latency is noise.
_LATENCY = 0.1


@dataclass(frozen=True)
class Names:
    """What the two runs are called."""

    base: str
    head: str


def run_name(info: RunInfo) -> str:
    """`20261101T120000Z-000001 (main 1a2b3c4d)`."""
    return f"{info.id} ({info.git.label})" if info.git else info.id


def run_notes(comparison: Comparison, base: RunInfo, head: RunInfo | None = None) -> list[str]:
    """What makes the runs less than whole: one that did not finish, or selected only a part.

    Earlier releases did not store the selection. That is said where it may matter: where scenarios are on
    one side only. `head` is left out where it is the run that is just ending.
    """
    known, ran = comparison.known
    said = _notes_on(base, unsure=known < ran)
    return said if head is None else [*said, *_notes_on(head, unsure=bool(comparison.of(Change.REMOVED)))]


def _notes_on(info: RunInfo, *, unsure: bool) -> list[str]:
    said = []
    if not info.came_to_its_end:
        said.append(f"{info.id} did not come to its end ({info.state.value}): what it lacks is not compared")
    chosen = info.selection
    if chosen is None and unsure:
        said.append(
            f"how many of the scenarios {info.id} selected is not known: an earlier release stored it, or "
            "only tests with the fixture `convoprobe` ran"
        )
    elif chosen is not None and chosen.partial:
        part = f"{chosen.scenarios:,} of {counted(chosen.existing, 'scenario')}"
        command = f" ({shlex.join(info.command)})" if info.command else ""
        said.append(f"{info.id} selected only {part}{command}")
    return said


def comparison_text(
    comparison: Comparison,
    names: Names,
    fail_on: FailOn,
    *,
    width: int,
    ascii_only: bool,
    color: bool = False,
) -> str:
    """The whole comparison as lines of at most `width` columns: what matters first, then the numbers."""
    page = Page(width, ascii_only=ascii_only, color=color)
    page.add(f"{names.base} → {names.head}: {totals(comparison)}", color="bold")
    for change in comparison.of(*LISTED):
        _add_change(page, change)
    for kind in _NAMED:
        _add_list(page, kind, comparison.of(kind))
    for line in statements(comparison):
        page.add(line)
    page.add(gate_line(comparison, fail_on), color="red" if comparison.fails(fail_on) else "")
    return page.text()


def totals(comparison: Comparison) -> str:
    """`1 new failure, 2 fixed, 7 the same`."""
    counts = [(kind, len(comparison.of(kind))) for kind in Change]
    words = [_count(kind, number) for kind, number in counts if number]
    return ", ".join(words) or "no scenarios"


def statements(comparison: Comparison) -> list[str]:
    """What is to be said of the two runs as a whole: numbers, what changed, how much the baseline knows."""
    known, ran = comparison.known
    coverage = [f"the baseline knows {known:,} of {counted(ran, 'scenario')}"] if ran else []
    return [*_numbers(comparison), *_changed_between(comparison), *_incomplete(comparison), *coverage]


def gate_line(comparison: Comparison, fail_on: FailOn) -> str:
    """Whether the gate is open, and what closes it."""
    if fail_on == "none":
        return "gate: none asked for"
    if not comparison.fails(fail_on):
        return f"gate ({fail_on}): open"
    kinds = [*CLOSING, *([Change.WORSE] if fail_on == "regression" else [])]
    reasons = [_count(kind, len(comparison.of(kind))) for kind in kinds if comparison.of(kind)]
    reasons += _incomplete(comparison)
    return f"gate ({fail_on}): closed by {', '.join(reasons)}"


def reason_of(change: ScenarioChange) -> str:
    """`agent: it never answers`, where a change is for the worse and something is known of it."""
    if change.kind not in _EXPLAINED or change.head is None or not change.head.example.reason:
        return ""
    row = change.head.example
    blame = f"{row.blame.value}: " if row.blame else ""
    return blame + shorten(one_line(row.reason), _REASON)


_SAID: dict[Change, tuple[str, str]] = {
    Change.NEW_FAILURE: ("new failure", "new failures"),
    Change.FAILS_UNKNOWN: ("failing without a verdict before",) * 2,
    Change.NO_VERDICT: ("without a verdict",) * 2,
    Change.FIRST_VERDICT: ("first verdict", "first verdicts"),
    Change.SAME: ("the same",) * 2,
}


def _count(kind: Change, number: int) -> str:
    one, many = _SAID.get(kind, (kind.value, kind.value))
    return f"{number:,} {one if number == 1 else many}"


def _incomplete(comparison: Comparison) -> list[str]:
    """Why the gate is closed whatever the scenarios say."""
    sides = {"the baseline": comparison.base, "this run": comparison.head}
    said = [
        f"{counted(facts.missing, 'trial')} missing from the stored results of {whose}"
        for whose, facts in sides.items()
        if facts.missing
    ]
    if unstored := comparison.head.unstored:
        said.append(f"{counted(unstored, 'trial')} of this run not stored")
    return said if comparison.head.ended else [*said, "this run did not come to its end"]


def _changed_between(comparison: Comparison) -> list[str]:
    """`changed between the runs: judge's model a → b (12 scenarios)`, also where no verdict changed."""
    found = [
        what + (f" ({counted(number, 'scenario')})" if number else "")
        for what, number in comparison.changed.items()
    ]
    more = f", and {len(found) - _MOST_CHANGES:,} more" if len(found) > _MOST_CHANGES else ""
    shown = ", ".join(map(one_line, found[:_MOST_CHANGES]))
    return [f"changed between the runs: {shown}{more}"] if found else []


def _add_change(page: Page, change: ScenarioChange) -> None:
    page.add(f"{change.kind.value}: {one_line(change.scenario_id)}", "  ", color=_COLORS[change.kind])
    for line in (figures_of(change), reason_of(change)):
        if line:
            page.add(line, "      ")
    if change.flipped and change.kind in _EXPLAINED:
        page.add(f"always satisfied before: {', '.join(map(one_line, change.flipped))}", "      ")
    if change.changed:
        page.add(f"changed since: {', '.join(map(one_line, change.changed))}", "      ")


def figures_of(change: ScenarioChange) -> str:
    """`passed 5 of 5 → 3 of 5, score 1.00 → 0.80, $0.0100 → $0.0200 a trial`."""
    base, head = change.base, change.head
    if base is None or head is None:
        # That there is no verdict is the change's own word already.
        return _passed(head) if head is not None and head.trials and change.kind in CLOSING else ""
    parts = [f"{_passed(base)} → {_passed(head, '' if base.trials else 'passed ')}"]
    if _differ(base.score, head.score):
        parts.append(f"score {number(base.score)} → {number(head.score)}")
    if _differ(base.cost, head.cost):
        parts.append(f"{dollars(base.cost)} → {dollars(head.cost)} a trial")
    if _differ(base.latency, head.latency, _LATENCY):
        parts.append(f"{seconds(base.latency)} → {seconds(head.latency)} a reply")
    return ", ".join(parts)


def _passed(side: ScenarioInRun, word: str = "passed ") -> str:
    """`passed 2 of 3`, of the trials with a verdict; those without one are beside it."""
    undecided = f" ({side.undecided} undecided)" if side.undecided else ""
    return (f"{word}{side.passed} of {side.trials}" if side.trials else "no verdict") + undecided


def _differ(before: float | None, after: float | None, share: float = 0.01) -> bool:
    """Whether both are known and differ by more than that share of the larger."""
    if before is None or after is None:
        return False
    return abs(after - before) > max(abs(before), abs(after)) * share


def _add_list(page: Page, kind: Change, changes: tuple[ScenarioChange, ...]) -> None:
    if changes:
        names = ", ".join(one_line(change.scenario_id) for change in changes)
        page.add(shorten(f"{kind.value}: {names}", 1000), "  ")


def _numbers(comparison: Comparison) -> Iterator[str]:
    if comparison.difference is not None:
        yield f"pass rate: {_points(comparison.difference)} on average{_interval(comparison)}"
    if comparison.only_base or comparison.only_head:
        yield (
            f"of {counted(comparison.pairs, 'paired trial')}, {comparison.only_base:,} passed only before "
            f"and {comparison.only_head:,} only now (exact McNemar: {p_equals(comparison.p_value)})"
        )
    if comparison.base_cost or comparison.head_cost:
        yield f"cost: {dollars(comparison.base_cost)} → {dollars(comparison.head_cost)}"
    if comparison.base_latency is not None and comparison.head_latency is not None:
        before, after = seconds(comparison.base_latency), seconds(comparison.head_latency)
        yield f"a reply of the target: {before} → {after}"


def _points(difference: float) -> str:
    """A difference of rates in percentage points."""
    text = points(difference)
    return "no change" if text == "0" else f"{text} points"


def _interval(comparison: Comparison) -> str:
    interval = comparison.interval
    if interval is None:
        return ""
    # Student's t may reach beyond what rates can differ by.
    within = Interval(max(-1.0, interval.low), min(1.0, interval.high))
    return f" (95 % interval by scenario: {points_range(within)})"
