"""What of a dry run's stage reaches the next one: rows that aren't there yet, and rows made anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..rows.work import Place
from ..stages.options import Options
from .driver import TargetPlan
from .forecast import Forecast


@dataclass(frozen=True)
class Coming:
    """What the stage before would make: so many `new` rows, and those of places that are there, `anew`."""

    new: int = 0
    anew: frozenset[Place] = frozenset()


def coming_of(found: Forecast, plans: Mapping[str, TargetPlan]) -> Coming:
    """What a stage would make for the next."""
    anew = frozenset(
        place
        for target, one in plans.items()
        for place in _to_make(one, found.targets[target].missing) & one.table.heads().keys()
    )
    return Coming(found.rows - len(anew), anew)


def _to_make(one: TargetPlan, limit: int) -> set[Place]:
    return {unit.place for unit in one.missing[:limit]}


def expect(plans: Mapping[str, TargetPlan], coming: Coming, options: Options) -> None:
    """Count rows among the missing whose source is made anew: they go with it, and are counted once."""
    for one in plans.values() if coming.anew else ():
        known = {unit.place for unit in one.missing}
        more = {
            unit.place
            for unit in one.units
            if unit.place not in known and _sources(unit.place) & coming.anew and options.choose(unit.place)
        }
        one.done -= sum(one.table.done(unit) for unit in one.units if unit.place in more)
        one.missing = [unit for unit in one.units if unit.place in known | more]


def _sources(place: Place) -> set[Place]:
    """The scenario of a conversation, the conversation of a score."""
    return {Place(place.id), replace(place, metric_id="")}
