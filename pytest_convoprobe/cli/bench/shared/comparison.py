"""Two runs of a benchmark that differ in one model, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....formatting import UNKNOWN, counted, number, number_range, percent, points, points_range
from ...console import Console
from ...tables import Cell, Column, Row, print_table
from .results import rate_text

if TYPE_CHECKING:
    from ....benchmark.analysis.comparison_model import (
        Correlation,
        EvaluatorAgreement,
        ModelComparison,
        TargetShift,
        Track,
        VerdictFlip,
    )
    from ....stats import Interval

_SHOWN_FLIPS = 10

_TARGETS = (
    Column("TRACK"),
    Column("TARGET", flexible=True),
    Column("BEFORE (95 %)", right=True, rank=2),
    Column("AFTER (95 %)", right=True, rank=3),
    Column("SHIFT IN POINTS", right=True, rank=1),
    Column("PLACE", right=True),
)
_RANKINGS = (Column("RANKING"), Column("SPEARMAN", right=True), Column("KENDALL", right=True))
_EVALUATORS = (
    Column("EVALUATORS ON", flexible=True),
    Column("CONVERSATIONS", right=True),
    Column("ALIKE", right=True),
    Column("KAPPA", right=True),
)


def print_comparison(console: Console, found: ModelComparison) -> None:
    """What moved, and how far."""
    console.say(console.safe(f"{found.role.replace('-', ' ')}: {found.first} → {found.second}"), "bold")
    console.say(_counts(found))
    console.say()
    tracks = found.tracks.items()
    print_table(console, _TARGETS, [row for name, track in tracks for row in _targets(name, track)])
    console.say()
    print_table(console, _RANKINGS, [_ranking(name, track) for name, track in tracks])
    for reason in dict.fromkeys(_reasons(found)):
        console.say(f"  {console.safe(reason)}", "faint")
    if found.agreement is not None:
        measured = [("all", found.agreement), *found.agreement_by_metric.items()]
        console.say()
        print_table(console, _EVALUATORS, [_agreement(name, one) for name, one in measured])
    _print_flips(console, found)
    for note in found.notes:
        console.note(f"note: {note}")


def _counts(found: ModelComparison) -> str:
    """How much was compared."""
    scenarios = counted(found.scenarios, "scenario")
    if not found.cells and not found.left_out:
        return f"{scenarios}; those of the two sides are others, so no conversation has a counterpart"
    left_out = f", {found.left_out:,} with one on one side only" if found.left_out else ""
    return f"{scenarios}; {found.cells:,} conversations with a verdict on both sides{left_out}"


def _targets(name: str, track: Track) -> Iterable[Row]:
    for one in track.targets:
        moved = one.place_before != one.place_after
        place = f"{_place(one.place_before)} → {_place(one.place_after)}"
        yield (
            name,
            one.target,
            rate_text(one.before),
            rate_text(one.after),
            _shift(one),
            Cell(place, "yellow" if moved else ""),
        )


def _place(place: int | None) -> str:
    return UNKNOWN if place is None else str(place)


def _shift(one: TargetShift) -> str:
    """`+5 (-2 to +12)`."""
    if one.shift is None:
        return UNKNOWN
    interval = one.shift.interval
    return points(one.shift.difference) + (f" ({points_range(interval)})" if interval else "")


def _ranking(name: str, track: Track) -> Row:
    return name, _correlation(track.spearman), _correlation(track.kendall)


def _correlation(one: Correlation) -> str:
    return number(one.value) + _between(one.interval)


def _between(interval: Interval | None) -> str:
    return f" ({number_range(interval)})" if interval else ""


def _reasons(found: ModelComparison) -> Iterable[str]:
    for track in found.tracks.values():
        yield from (one.reason for one in (track.spearman, track.kendall) if one.reason)


def _agreement(name: str, one: EvaluatorAgreement) -> Row:
    return name, f"{one.pairs:,}", percent(one.same), number(one.kappa) + _between(one.interval)


def _print_flips(console: Console, found: ModelComparison) -> None:
    if not found.cells:
        return
    console.say()
    console.say(f"{len(found.flips):,} of {found.cells:,} conversations came out differently", "bold")
    for flip in found.flips[:_SHOWN_FLIPS]:
        console.say(f"  {console.safe(_flip(flip))}")
    if len(found.flips) > _SHOWN_FLIPS:
        console.say(f"  and {len(found.flips) - _SHOWN_FLIPS:,} more; --json has them all")


def _flip(flip: VerdictFlip) -> str:
    words = {True: "passed", False: "failed"}
    return f"{flip.target} {flip.id}#{flip.sample}: {words[flip.before]} → {words[flip.after]}"
