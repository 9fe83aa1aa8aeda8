"""How steadily scenarios come out, in tables: for `flaky` and `stability`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..formatting import counted, number, percent_range
from .cells import errors_text, rate_color, rate_text
from .console import Console
from .tables import Cell, Column, Row, print_table

if TYPE_CHECKING:
    from ..result import ScenarioResult
    from ..results.history import Stability, UnsteadyAnswer

# A sparkline of more doesn't fit beside the other columns.
_LATEST = 20

_COLUMNS = (
    Column("SCENARIO", flexible=True),
    Column("PASSED", right=True),
    Column("RATE", right=True),
    Column("ERRORS", rank=1, sparse=True),
    Column("95 %", right=True, rank=2),
    Column("SCORE", right=True, rank=3),
    Column("LATEST", rank=1),
    Column("FLIPS", flexible=True, rank=4),
    Column("ON ONE COMMIT", rank=5),
)


def print_stabilities(console: Console, found: Sequence[Stability]) -> None:
    """A table, a scenario a row."""
    print_table(console, _COLUMNS, [_row(one) for one in found])


def _row(one: Stability) -> Row:
    from ..results.history import sparkline

    return (
        one.scenario_id,
        f"{one.passed}/{one.trials}",
        Cell(rate_text(one.rate), rate_color(one.rate)),
        errors_text(one.errors),
        percent_range(one.interval),
        spread(one),
        sparkline([None if passed is None else float(passed) for passed in one.series[-_LATEST:]]),
        ", ".join(flip.key for flip in one.flips),
        "yes" if one.within_commit else "no",
    )


def spread(one: Stability) -> str:
    """`0.75±0.21 (0.50-1.00)`."""
    if one.score_mean is None:
        return "-"
    deviation = "" if one.score_deviation is None else f"±{number(one.score_deviation)}"
    return f"{number(one.score_mean)}{deviation} ({number(one.score_low)}-{number(one.score_high)})"


def print_flips(console: Console, one: Stability, example: ScenarioResult | None) -> None:
    """What flips, the most even first, with its words as far as a trial has them."""
    words = _words(example) if example else {}
    for flip in one.flips:
        text = words.get(flip.key, "")
        named = f"{flip.key}: {text}" if text else flip.key
        console.say(f"  {console.safe(named)}")
        console.say(f"      {_counts(flip)}", "faint")


def _words(example: ScenarioResult) -> dict[str, str]:
    return {found.criterion.id: found.criterion.text for found in example.criteria}


def _counts(flip: UnsteadyAnswer) -> str:
    undecided = f", undecided in {flip.untold}" if flip.untold else ""
    return f"satisfied in {counted(flip.held, 'trial')}, not satisfied in {flip.failed}{undecided}"


def as_json(one: Stability, ks: Sequence[int] = ()) -> dict[str, Any]:
    """The facts with what is computed from them."""
    from dataclasses import asdict

    facts = asdict(one)
    facts["example"] = {"run": one.example.run, "trial": one.example.trial, "reason": one.example.reason}
    if ks:
        facts["pass_hat"] = {k: one.pass_hat(k) for k in ks}
        facts["pass_at"] = {k: one.pass_at(k) for k in ks}
    return facts
