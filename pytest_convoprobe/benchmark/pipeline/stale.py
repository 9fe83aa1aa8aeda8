"""Conversations and scores made from an older version of something: they count, until a run replaces them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ...errors import ResultsError
from ..rows.ages import span_of
from ..rows.table import Table
from ..rows.work import Place
from ..stages import registry
from ..stages.options import Options
from ..stages.own_scenarios import unknown_demographics
from ..stages.step import StepContext
from ..stages.tables import Tables
from .driver import TargetPlan, plan


def result_notes(context: StepContext, tables: Tables, stages: Sequence[str]) -> list[str]:
    """What to say beside the results of a run of these stages; aggregate itself names unreadable files.

    Rows that others wrote carry no notes: aggregating does not need to take them over.
    """
    notes: list[str] = []
    for found in (_of_scenarios, _of_conversations, _of_scores):
        with contextlib.suppress(ResultsError):
            notes += found(context, tables, stages)
    return notes


def _of_scenarios(context: StepContext, tables: Tables, stages: Sequence[str]) -> Iterator[str]:
    if tables.begun("gen-scenarios"):
        others = tables("gen-scenarios").others()
        yield from unknown_demographics(others, context.config.demographics)


def _of_conversations(context: StepContext, tables: Tables, stages: Sequence[str]) -> Iterator[str]:
    """A run of all conversations leaves no older ones behind."""
    # Planning again would read all heads once more, for nothing.
    if "simulate" in stages and not context.options.only:
        return
    begun = tuple(entry for entry in context.config.targets if tables.begun("simulate", entry.id))
    if begun:
        config = context.config.model_copy(update={"targets": begun})
        within = replace(context, loaded=replace(context.loaded, config=config))
        for target, older in older_conversations(_plans("simulate", within, tables)).items():
            yield from note_of_conversations(target, older)


def _of_scores(context: StepContext, tables: Tables, stages: Sequence[str]) -> Iterator[str]:
    for entry in context.config.targets:
        with contextlib.suppress(ResultsError):
            if tables.begun("evaluate", entry.id):
                yield from note_of_scores(entry.id, tables("evaluate", entry.id))
    if "evaluate" in stages and context.options.only:
        for target, one in _plans("evaluate", context, tables).items():
            yield from note_of_answers(target, one)


def _plans(name: str, context: StepContext, tables: Tables) -> dict[str, TargetPlan]:
    """All units of a step, including those that `options.only` leaves out."""
    return plan(registry.step(name).plan(context), partial(tables, name), Options())


def older_conversations(simulated: Mapping[str, TargetPlan]) -> dict[str, dict[Place, str]]:
    """By target, existing conversations that a run would make again, each with the day that it is from."""
    found = {}
    for target, one in simulated.items():
        heads = one.table.heads()
        places = [unit.place for unit in one.missing if unit.place in heads]
        found[target] = {place: heads[place].day for place in places}
    return found


def note_of_answers(target: str, evaluated: TargetPlan) -> list[str]:
    """A note of scores that another evaluator gave, or that are for another definition."""
    table = evaluated.table
    older = ({unit.place for unit in evaluated.missing} & table.heads().keys()) - table.outdated()
    were = "1 score was" if len(older) == 1 else f"{len(older)} scores were"
    note = (
        f"{target}: {were} given by an older evaluator or for an older definition (they count; "
        "`convoprobe bench evaluate` replaces them)"
    )
    return [note] if older else []


def expect_again(evaluated: Mapping[str, TargetPlan], older: Mapping[str, Collection[Place]]) -> None:
    """Count scores of older conversations among the missing ones: they go with what they are of."""
    for target, one in evaluated.items():
        for unit in one.units:
            of = replace(unit.place, metric_id="")
            if of in older.get(target, ()) and one.table.done(unit):
                one.done -= 1
                one.missing.append(unit)


def note_of_conversations(target: str, older: Mapping[Place, str]) -> list[str]:
    """A note of so many, with the days that they are from; none where there are none."""
    one = len(older) == 1
    when = f" (made {span})" if (span := span_of(older.values())) else ""
    which = f"{len(older)} {'conversation' if one else 'conversations'}{when} {'is' if one else 'are'}"
    note = (
        f"{target}: {which} from an older version of their scenario, metric or settings, or of the agent's "
        "code (they count; `convoprobe bench simulate` replaces them)"
    )
    return [note] if older else []


def note_of_scores(target: str, scores: Table) -> list[str]:
    """A note of scores whose conversation was replaced after it was scored."""
    older = {(place.id, place.sample) for place in scores.outdated()}
    note = (
        f"{target}: conversations with scores of the conversation that they replaced (they count; "
        f"`convoprobe bench evaluate` replaces them): {len(older)}"
    )
    return [note] if older else []
