"""What a dry run passes on to the next step: rows that aren't there yet, and rows that are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..rows.work import Place
from ..stages.options import Options
from .driver import TargetPlan
from .forecast import Forecast


@dataclass(frozen=True)
class Coming:
    """What the stage before would make: so many `new` rows, and those of places that are there, `remade`."""

    new: int = 0
    remade: frozenset[Place] = frozenset()


def coming_of(found: Forecast, plans: Mapping[str, TargetPlan]) -> Coming:
    """What a stage would make for the next."""
    remade = frozenset(
        place
        for target, one in plans.items()
        for place in _to_make(one, found.targets[target].missing) & one.table.heads().keys()
    )
    return Coming(found.rows - len(remade), remade)


def _to_make(one: TargetPlan, limit: int) -> set[Place]:
    return {unit.place for unit in one.missing[:limit]}


def expect(plans: Mapping[str, TargetPlan], coming: Coming, options: Options) -> None:
    """Count rows among the missing whose source is replaced, each once."""
    for one in plans.values() if coming.remade else ():
        known = {unit.place for unit in one.missing}
        more = {
            unit.place
            for unit in one.units
            if unit.place not in known and _sources(unit.place) & coming.remade and options.choose(unit.place)
        }
        one.done -= sum(one.table.done(unit) for unit in one.units if unit.place in more)
        one.missing = [unit for unit in one.units if unit.place in known | more]


def _sources(place: Place) -> set[Place]:
    """The scenario of a conversation, the conversation of a score."""
    return {Place(place.id), replace(place, metric_id="")}
