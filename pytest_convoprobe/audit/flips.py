"""Whether the judge says the same again: stored conversations are judged a second time, in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..judging.types import CriterionResult
from ..results.audit_file import FlipFigures
from ..results.index import IndexRow
from ..results.reading import StoredRun
from ..runs.rejudge import AnswerChange, Rejudged, rejudge
from ..runs.session import Session


@dataclass
class Flips:
    """What came of one scenario's conversations; `criteria` counts, by text, the answers that flipped."""

    asked: int = 0
    flipped: int = 0
    lost: int = 0
    criteria: Counter[str] = field(default_factory=Counter)

    @property
    def figures(self) -> FlipFigures:
        return FlipFigures(self.asked, self.flipped, self.lost)


def judged_again(
    runs: Iterable[StoredRun],
    rows: Sequence[IndexRow],
    session: Session,
    tick: Callable[[int], object] = bool,
) -> list[Rejudged]:
    """The conversations of these rows, judged again with the criteria in the other order."""
    found: list[Rejudged] = []
    for run in runs:
        wanted = {(row.worker, row.offset) for row in rows if row.run == run.id}
        if wanted:
            done = len(found)
            found += rejudge(
                run,
                session,
                select=lambda row, wanted=wanted: (row.worker, row.offset) in wanted,  # type: ignore[misc]
                tick=lambda more, done=done: tick(done + more),  # type: ignore[misc]
                other_order=True,
            )
    return found


def flips_of(found: Iterable[Rejudged]) -> dict[str, Flips]:
    """By scenario. Conversations that can't be judged any more don't count."""
    flips: dict[str, Flips] = {}
    for one in found:
        if one.new is not None:
            _add(flips.setdefault(one.row.scenario_id, Flips()), one)
    return flips


def _add(flips: Flips, one: Rejudged) -> None:
    assert one.new is not None  # noqa: S101 - only such a one is added
    if one.new.outcome.value not in ("passed", "failed") or one.new.blame == "judge":
        flips.lost += 1
        return
    flips.asked += 1
    flips.flipped += one.changed
    for answer in one.answers:
        if _has_flipped(answer):
            flips.criteria[answer.key] += 1


def _has_flipped(answer: AnswerChange) -> bool:
    old, new = answer.old, answer.new
    if not isinstance(old, CriterionResult) or not isinstance(new, CriterionResult):
        return False
    return old.holds is not None and new.holds is not None and old.holds is not new.holds


def all_figures(flips: Mapping[str, Flips]) -> FlipFigures:
    """Of all scenarios together."""
    every = flips.values()
    return FlipFigures(
        sum(one.asked for one in every), sum(one.flipped for one in every), sum(one.lost for one in every)
    )
