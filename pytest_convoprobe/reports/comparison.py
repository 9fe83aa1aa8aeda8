"""What changed between two runs, as text: for `convoprobe compare` and a run with a baseline."""

from __future__ import annotations

from dataclasses import dataclass

from ..formatting import counted, dollars, number, p_equals, points, points_range, seconds
from ..results.compare import Change, Comparison, FailOn, ScenarioChange, ScenarioInRun
from ..results.store import RunInfo
from ..stats import Interval
from ..text import one_line, shorten
from .terminal_page import Page

_COLORS = {
    Change.NEW_FAILURE: "red",
    Change.NO_VERDICT: "yellow",
    Change.WORSE: "yellow",
    Change.FIXED: "green",
    Change.BETTER: "green",
}
_LISTED = (Change.NEW_FAILURE, Change.NO_VERDICT, Change.WORSE, Change.FIXED, Change.BETTER)
_REASON = 300
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


def unfinished_note(info: RunInfo) -> str:
    """A note on a run that lacks trials; empty for one that came to its end."""
    if info.came_to_its_end:
        return ""
    return f"note: {info.id} did not come to its end ({info.state.value}): what it lacks is not compared"


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
    for change in comparison.of(*_LISTED):
        _add_change(page, change)
    for kind in (Change.ADDED, Change.REMOVED):
        _add_list(page, kind, comparison.of(kind))
    _add_numbers(page, comparison)
    page.add(gate_line(comparison, fail_on), color="red" if comparison.fails(fail_on) else "")
    return page.text()


def totals(comparison: Comparison) -> str:
    """`1 new failure, 2 fixed, 7 the same`."""
    counts = [(kind, len(comparison.of(kind))) for kind in Change]
    words = [_count(kind, number) for kind, number in counts if number]
    return ", ".join(words) or "no scenarios"


def gate_line(comparison: Comparison, fail_on: FailOn) -> str:
    """Whether the gate is open, and what closes it."""
    if fail_on == "none":
        return "gate: none asked for"
    if not comparison.fails(fail_on):
        return f"gate ({fail_on}): open"
    kinds = [Change.NEW_FAILURE, Change.NO_VERDICT, *([Change.WORSE] if fail_on == "regression" else [])]
    reasons = [_count(kind, len(comparison.of(kind))) for kind in kinds if comparison.of(kind)]
    return f"gate ({fail_on}): closed by {', '.join(reasons)}"


def _count(kind: Change, number: int) -> str:
    if kind is Change.SAME:
        return f"{number:,} the same"
    return counted(number, kind.value) if kind is Change.NEW_FAILURE else f"{number:,} {kind.value}"


def _add_change(page: Page, change: ScenarioChange) -> None:
    page.add(f"{change.kind.value}: {one_line(change.scenario_id)}", "  ", color=_COLORS[change.kind])
    page.add(_figures(change), "      ")
    if change.kind in (Change.NEW_FAILURE, Change.NO_VERDICT, Change.WORSE):
        _add_why(page, change)
    if change.changed:
        page.add(f"changed since: {', '.join(change.changed)}", "      ")


def _add_why(page: Page, change: ScenarioChange) -> None:
    if change.head is not None and change.head.example.reason:
        row = change.head.example
        blame = f"{row.blame.value}: " if row.blame else ""
        page.add(blame + shorten(one_line(row.reason), _REASON), "      ")
    if change.flipped:
        page.add(f"always satisfied before: {', '.join(map(one_line, change.flipped))}", "      ")


def _figures(change: ScenarioChange) -> str:
    """`passed 5 of 5 → 3 of 5, score 1.00 → 0.80, $0.0100 → $0.0200 a trial`."""
    base, head = change.base, change.head
    if base is None or head is None:
        return ""
    parts = [f"passed {_passed(base)} → {_passed(head)}"]
    if _differ(base.score, head.score):
        parts.append(f"score {number(base.score)} → {number(head.score)}")
    if _differ(base.cost, head.cost):
        parts.append(f"{dollars(base.cost)} → {dollars(head.cost)} a trial")
    if _differ(base.latency, head.latency, _LATENCY):
        parts.append(f"{seconds(base.latency)} → {seconds(head.latency)} a reply")
    return ", ".join(parts)


def _passed(side: ScenarioInRun) -> str:
    return f"{side.passed} of {side.trials}" if side.trials else "none"


def _differ(before: float | None, after: float | None, share: float = 0.01) -> bool:
    """Whether both are known and differ by more than that share of the larger."""
    if before is None or after is None:
        return False
    return abs(after - before) > max(abs(before), abs(after)) * share


def _add_list(page: Page, kind: Change, changes: tuple[ScenarioChange, ...]) -> None:
    if changes:
        names = ", ".join(one_line(change.scenario_id) for change in changes)
        page.add(shorten(f"{kind.value}: {names}", 1000), "  ")


def _add_numbers(page: Page, comparison: Comparison) -> None:
    if comparison.difference is not None:
        page.add(f"pass rate: {_points(comparison.difference)} on average{_interval(comparison)}")
    if comparison.only_base or comparison.only_head:
        page.add(
            f"of {counted(comparison.pairs, 'paired trial')}, {comparison.only_base:,} passed only before "
            f"and {comparison.only_head:,} only now (exact McNemar: {p_equals(comparison.p_value)})"
        )
    if comparison.base_cost or comparison.head_cost:
        page.add(f"cost: {dollars(comparison.base_cost)} → {dollars(comparison.head_cost)}")
    if comparison.base_latency is not None and comparison.head_latency is not None:
        before, after = seconds(comparison.base_latency), seconds(comparison.head_latency)
        page.add(f"a reply of the target: {before} → {after}")


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
