"""`convoprobe show`: a stored run, or one of its conversations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...formatting import UNKNOWN, counted, dollars, moment, number, seconds
from ..cells import commit_text, counts_text, outcome_cell
from ..console import Console, write_json
from ..project import Project, json_option, project_options
from ..select_trials import one_scenario, pick_trial
from ..tables import Column, Row, print_table
from ..trial_text import conversation_text

if TYPE_CHECKING:
    from ...gate.suite import SuiteDecision
    from ...gate.types import Decision
    from ...results.store import IndexRow, StoredRun

_COLUMNS = (
    Column("OUTCOME"),
    Column("SCORE", right=True),
    Column("SCENARIO", flexible=True),
    Column("TRIAL", right=True, rank=3),
    Column("ATTEMPTS", right=True, rank=3, sparse=True),
    Column("TURNS", right=True, rank=4),
    Column("TOOK", right=True, rank=2),
    Column("COST", right=True, rank=5),
    Column("WHY", flexible=True, rank=1),
)


@click.command(short_help="Show a stored run, or one of its conversations.")
@click.argument("run")
@click.argument("scenario", required=False)
@click.option("--trial", type=click.IntRange(min=1), help="The trial to show, if there are several.")
@click.option("-v", "--verbose", is_flag=True, help="Shorten nothing.")
@json_option
@project_options
def command(
    run: str,
    scenario: str | None,
    trial: int | None,
    verbose: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Show a stored RUN and its scenarios. With SCENARIO (an id, a name, or a part of one), show the whole
    conversation and the verdict. Of several trials, it is the first that didn't pass.

    \b
    Example:
        convoprobe show latest
        convoprobe show latest "Order status"
    """  # noqa: D301 - click looks for the character itself
    stored = Project.here(config_file, results_dir).open(run)
    if scenario is None:
        _show_run(stored, as_json)
    else:
        _show_trial(stored, scenario, trial, verbose, as_json)


def _show_run(stored: StoredRun, as_json: bool) -> None:
    from ...results.store import final

    rows = sorted(final(stored.rows()), key=lambda row: (row.scenario_id, row.trial))
    from ...results.run_gate import suite_of

    gate = suite_of(stored)
    if as_json:
        decided = {"decisions": [one.to_json() for one in gate.decisions]} if gate else {}
        write_json({**stored.info.to_json(), "notes": stored.notes, "trials": rows, **decided})
        return
    console = Console.of()
    _add_facts(console, stored, rows)
    console.say()
    print_table(console, _COLUMNS, [_row(row) for row in rows])
    if gate:
        _add_decisions(console, gate)


def _add_decisions(console: Console, gate: SuiteDecision) -> None:
    """What the gate made of the trials above; runs in which each counts alone have none of this."""
    from ...reports.decisions import drift_in_words, listed, sentence, stops

    console.say()
    console.say(f"gate: {gate.word.value}", "bold")
    if together := drift_in_words(gate):
        console.say(f"  {together}", "red")
    shown = listed(gate.decisions)
    for one in shown:
        color = "red" if stops(one) else "yellow" if one.word.value != "green" else ""
        text = f"  {one.word.value:<9} {console.safe(one.scenario_id)}: {console.safe(sentence(one))}"
        console.say(text, color)
        for note in one.notes:
            console.say(f"            {console.safe(note)}", "faint")
    if more := len(gate.decisions) - len(shown):
        console.say(f"  green     {counted(more, 'other scenario' if shown else 'scenario')}: no failure", "")


def _add_decision(console: Console, decision: Decision) -> None:
    """The same about one scenario, with the figures."""
    from ...reports.decisions import figures_in_words, sentence

    console.say()
    console.say(f"gate {decision.word.value}: {console.safe(sentence(decision))}", "bold")
    for line in (figures_in_words(decision), *decision.notes):
        console.say(f"  {console.safe(line)}")


def _add_facts(console: Console, stored: StoredRun, rows: list[IndexRow]) -> None:
    info = stored.info
    took = f", took {seconds(info.ended - info.started)}" if info.ended else ""
    console.say(console.safe(f"run {stored.id}"), "bold")
    facts = {
        "started": f"{moment(info.started) or UNKNOWN}{took}",
        "ended": info.state.value,
        "commit": commit_text(info),
        "models": ", ".join(f"{role.replace('_', ' ')} {model}" for role, model in info.models.items()),
        "trials": counts_text(stored.counts),
        "cost": dollars(_cost(rows), UNKNOWN),
        "ci": (info.ci.url or info.ci.provider) if info.ci else "",
    }
    for name, value in facts.items():
        if value:
            console.say(f"  {name:<8} {console.safe(value)}")
    for note in stored.notes:
        console.say(f"  note     {console.safe(note)}", "yellow")


def _cost(rows: list[IndexRow]) -> float | None:
    """What was paid; None if a price isn't known. What was replayed cost nothing."""
    costs = [row.cost for row in rows if not row.replayed]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _row(row: IndexRow) -> Row:
    return (
        outcome_cell(row.outcome.value),
        number(row.score),
        row.scenario_id,
        str(row.trial),
        str(row.attempts) if row.earlier else "",
        str(row.turns),
        seconds(row.duration),
        dollars(row.cost, UNKNOWN),
        f"{row.blame.value}: {row.reason}" if row.blame else row.reason,
    )


def _show_trial(stored: StoredRun, text: str, trial: int | None, verbose: bool, as_json: bool) -> None:
    from ...results.store import final

    rows = one_scenario(final(stored.rows()), text)
    record = stored.trial(pick_trial(rows, trial))
    if as_json:
        from ...results.records import to_record

        write_json(to_record(record.result, record.prints, worker=record.worker))
        return
    console = Console.of()
    console.write(conversation_text(console, record, verbose).split("\n"))
    if decided := stored.decisions().get(rows[0].scenario_id):
        _add_decision(console, decided)
    if len(rows) > 1:
        others = ", ".join(f"{row.trial} {row.outcome.value}" for row in rows)
        console.note(f"this is trial {record.result.trial} of {len(rows)} ({others}); --trial shows another")
