"""`convoprobe bench status`: what is done, and what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...formatting import moment
from ..console import Console, write_json
from ..project import json_option
from ..tables import Cell, Column, Row, print_table
from .shared.failures import failures_json, print_failures
from .shared.options import BenchOptions, folder_argument, loading_options
from .shared.results import costs_of, print_costs

if TYPE_CHECKING:
    from ...benchmark.format.project import LoadedBenchmark
    from ...benchmark.pipeline.driver import TargetPlan
    from ...benchmark.rows.row_types import ScoreRow
    from ...benchmark.rows.waiting import WaitingNote
    from ...benchmark.rows.work import Place

_COLUMNS = (
    Column("STAGE"),
    Column("TARGET", flexible=True),
    Column("DONE", right=True),
    Column("MISSING", right=True),
    Column("FAILED", right=True),
    Column("UNREADABLE", right=True, rank=1),
    Column("FROM", rank=2),
)


@dataclass(frozen=True)
class State:
    """One stage and target. The missing ones are those that a run would make; `failed` ones are among
    them. `days` are those on which the stored conversations were made, empty where that isn't known;
    `notes` say which of them are with an older agent.
    """

    stage: str
    target: str
    done: int
    missing: int
    failed: tuple[tuple[Place, str], ...]
    unreadable: int
    days: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: str = ""
    """What the stage waits for, or waited for when its run was broken off."""


@click.command(short_help="Show what is done, missing, failed and unreadable.")
@folder_argument
@loading_options
@json_option
def command(folder: Path, target: tuple[str, ...], config_file: Path | None, as_json: bool) -> None:
    """Show for each stage and target which rows are done, which a run would make, which of these failed
    before, and why. Also shows how many conversations have an unreadable answer of the evaluator, and the
    cost of all runs together. No model is called, and nothing is written.

    It answers while a run is at work, too. If that run makes no progress, or if the last one was broken off
    without any, it shows what the run waits or waited for.

    \b
    Example:
        convoprobe bench status honesty
    """  # noqa: D301 - click looks for the character itself
    from ...benchmark.rows.folder_lock import is_at_work
    from ...benchmark.rows.waiting import read_waiting

    # As for a replay: a key that is missing here doesn't matter to somebody who only looks.
    loaded = BenchOptions(folder, target, config_file, replay="only").load()
    at_work = is_at_work(loaded.folder)
    states = _with_waiting(asyncio.run(_states(loaded)), read_waiting(loaded.folder), at_work)
    if as_json:
        write_json([_as_json(one) for one in states])
    else:
        if at_work:
            Console.of().say("a run is at work in this folder; these are the figures of this moment")
        _print(Console.of(), states)
        print_costs(Console.of(), costs_of(loaded.folder))


async def _states(loaded: LoadedBenchmark) -> list[State]:
    from ...benchmark.pipeline.pipeline import survey

    async with survey(loaded) as plans:
        states = [_state(stage, name, one) for stage, found in plans.items() for name, one in found.items()]
    listed = {one.target for one in states if one.stage == "evaluate" and one.done}
    return [*states, *(one for one in _scored_elsewhere(loaded) if one.target not in listed)]


def _scored_elsewhere(loaded: LoadedBenchmark) -> Iterable[State]:
    """Targets with scores and no conversations, as others publish them: no stage has work to do for them."""
    from ...benchmark.rows.score_file import read_scores

    folder = loaded.folder
    for entry in loaded.config.targets:
        scores: list[ScoreRow] = []
        if not folder.conversations(entry.id).exists():
            scores = list(read_scores(folder, entry.id, []))
        if scores:
            note = (
                f"{entry.id}: scores without conversations. They count; `--force` talks and evaluates again"
            )
            unreadable = sum(score.unreadable for score in scores)
            yield State("evaluate", entry.id, len(scores), 0, (), unreadable, notes=(note,))


def _with_waiting(states: list[State], note: WaitingNote | None, at_work: bool) -> list[State]:
    """With what is noted of the stage that waits, in words; a stage without units may be it as well."""
    if note is None:
        return states
    when = "" if at_work else f"its last run was broken off ({moment(note.at)}) while it was "
    text = f"{when}{note.words}"
    of_stage = [one for one in states if one.stage == note.stage]
    first = of_stage[0] if of_stage else State(note.stage, "", 0, 0, (), 0)
    others = states if of_stage else [*states, first]
    return [replace(one, waiting=text) if one is first else one for one in others]


def _state(stage: str, target: str, one: TargetPlan) -> State:
    wanted = {unit.place for unit in one.missing}
    failed = tuple(pair for pair in one.table.failures() if pair[0] in wanted)
    state = State(stage, target, one.done, len(one.missing), failed, _unreadable(stage, one))
    return _with_ages(state, one) if stage == "simulate" else state


def _with_ages(state: State, one: TargetPlan) -> State:
    from ...benchmark.pipeline.stale import note_of_conversations, older_conversations

    days = tuple(head.day for head in one.table.heads().values())
    older = older_conversations({state.target: one})[state.target]
    return replace(state, days=days, notes=tuple(note_of_conversations(state.target, older)))


def _unreadable(stage: str, one: TargetPlan) -> int:
    """How many rows of `evaluate` have an answer that couldn't be read; other stages have no such rows."""
    from ...benchmark.rows.row_types import ScoreRow

    if stage != "evaluate":
        return 0
    done = (unit.place for unit in one.units if one.table.done(unit))
    scores = (ScoreRow.from_json(one.table.row(place)) for place in done)
    return sum(score.unreadable for score in scores)


def _print(console: Console, states: list[State]) -> None:
    if not states:
        console.say("nothing is there yet: `convoprobe bench gen-metrics` begins")
        return
    print_table(console, _COLUMNS, list(_rows(states)))
    if not any(one.missing for one in states):
        console.say("nothing is missing")
    for one in states:
        for note in one.notes:
            console.say(f"note: {console.safe(note)}")
        if one.waiting:
            console.say(f"{one.stage}: {console.safe(one.waiting)}")
        print_failures(console, one.stage, one.target, one.failed)


def _rows(states: Iterable[State]) -> Iterable[Row]:
    for one in states:
        yield (
            one.stage,
            one.target,
            f"{one.done:,}",
            Cell(f"{one.missing:,}", "yellow" if one.missing else ""),
            Cell(f"{len(one.failed):,}", "red" if one.failed else ""),
            Cell(f"{one.unreadable:,}", "yellow" if one.unreadable else ""),
            _from(one.days),
        )


def _from(days: Sequence[str]) -> str:
    from ...benchmark.rows.ages import span_of

    return span_of(days) or ("unknown" if days else "")


def _as_json(one: State) -> dict[str, object]:
    known = [day for day in one.days if day]
    unknown = len(one.days) - len(known)
    return {
        "stage": one.stage,
        "target": one.target,
        "done": one.done,
        "missing": one.missing,
        "failed": failures_json(one.failed),
        "unreadable": one.unreadable,
        "made": {"first": min(known, default=None), "last": max(known, default=None), "unknown": unknown},
        "notes": list(one.notes),
        "waiting": one.waiting,
    }
