"""Conversations and scores that are of what has changed since: they count, and a run would make them anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..rows.table import Table
from ..rows.work import Place
from .driver import TargetPlan


def older_conversations(simulated: Mapping[str, TargetPlan]) -> dict[str, set[Place]]:
    """By target, those that are there, but would be held anew."""
    return {
        target: {unit.place for unit in share.missing} & share.table.heads().keys()
        for target, share in simulated.items()
    }


def note_of_answers(target: str, evaluated: TargetPlan) -> list[str]:
    """The same of scores that another evaluator gave, or that are for another definition."""
    table = evaluated.table
    older = ({unit.place for unit in evaluated.missing} & table.heads().keys()) - table.outdated()
    were = "1 score was" if len(older) == 1 else f"{len(older)} scores were"
    note = (
        f"{target}: {were} given by an older evaluator or for an older definition (they count; "
        "`convoprobe bench evaluate` makes them anew)"
    )
    return [note] if older else []


def expect_anew(evaluated: Mapping[str, TargetPlan], older: Mapping[str, Collection[Place]]) -> None:
    """Count scores of older conversations among the missing ones: they go with what they are of."""
    for target, share in evaluated.items():
        for unit in share.units:
            of = replace(unit.place, metric_id="")
            if of in older.get(target, ()) and share.table.done(unit):
                share.done -= 1
                share.missing.append(unit)


def note_of_conversations(target: str, older: Collection[Place]) -> list[str]:
    """A note of so many; none where there are none."""
    were = "conversation was" if len(older) == 1 else "conversations were"
    note = (
        f"{target}: {len(older)} {were} held with an older version of their scenario, metric or settings "
        "(they count; `convoprobe bench simulate` holds them anew)"
    )
    return [note] if older else []


def note_of_scores(target: str, scores: Table) -> list[str]:
    """The same of the scores of conversations that were held anew after they were scored."""
    older = {(place.id, place.sample) for place in scores.outdated()}
    note = (
        f"{target}: conversations whose scores are of what was held before them (they count; `convoprobe "
        f"bench evaluate` makes them anew): {len(older)}"
    )
    return [note] if older else []
