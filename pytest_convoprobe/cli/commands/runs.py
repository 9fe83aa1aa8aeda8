"""`convoprobe runs`: the stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import UNKNOWN, moment, seconds
from ..cells import COLORS, commit_text, counts_text, reruns_text
from ..console import Console, write_json
from ..project import Project, json_option, project_options
from ..tables import Cell, Column, Row, print_table

if TYPE_CHECKING:
    from ...results.store import RunRef

_COLUMNS = (
    Column("RUN"),
    Column("STARTED", rank=2),
    Column("ENDED", rank=1),
    Column("PASSED", right=True),
    Column("FAILED", right=True),
    Column("ERROR", right=True),
    Column("SKIPPED", right=True, rank=4),
    Column("RERUNS", right=True, rank=2, sparse=True),
    Column("GATE", rank=2, sparse=True),
    Column("TOOK", right=True, rank=3),
    Column("COMMIT", flexible=True, rank=5),
)


@click.command(short_help="List the stored runs.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Show at most this many.",
)
@click.option("--all", "everything", is_flag=True, help="Show all runs.")
@json_option
@project_options
def command(
    limit: int, everything: bool, as_json: bool, config_file: Path | None, results_dir: Path | None
) -> None:
    """List the stored runs, the newest first: how they ended, and on which commit they ran.

    \b
    Example:
        convoprobe runs --limit 5
    """  # noqa: D301 - click looks for the character itself
    project = Project.here(config_file, results_dir)
    found = project.runs()
    shown = found if everything else found[:limit]
    if as_json:
        write_json([_as_json(run) for run in shown])
        return
    console = Console.of()
    if not found:
        console.note(f"no stored runs in {project.results}: run pytest on some scenarios first")
        return
    print_table(console, _COLUMNS, [_row(run) for run in shown])
    if len(shown) < len(found):
        console.note(f"{len(found) - len(shown)} older ones are not shown: --all shows them")


def _counts(run: RunRef) -> dict[str, int]:
    """The counts of a run. Without a record of its end, they come from its trials."""
    return dict(run.info.counts) or run.open().counts


def _row(run: RunRef) -> Row:
    info, counts = run.info, _counts(run)
    took = seconds(info.ended - info.started) if info.ended else UNKNOWN
    state = info.state.value
    numbers = [
        Cell(str(counts.get(name, 0)), COLORS[name] if counts.get(name) else "faint") for name in COLORS
    ]
    return (
        run.id,
        moment(info.started) or UNKNOWN,
        Cell(state, "" if state == "finished" else "yellow"),
        *numbers,
        reruns_text(info.reruns),
        _gate(run),
        took,
        commit_text(info),
    )


def _gate(run: RunRef) -> Cell:
    """What the gate decided about the run; empty where each trial counts alone."""
    from ...results.run_gate import suite_of

    suite = suite_of(run.open())
    word = suite.word.value if suite else ""
    return Cell(word, {"red": "red", "green": "green"}.get(word, "yellow"))


def _as_json(run: RunRef) -> dict[str, Any]:
    return {**run.info.to_json(), "path": str(run.path), "counts": _counts(run)}


def summary(run: RunRef) -> str:
    """A run in a line."""
    return f"{run.id}  {moment(run.info.started)}  {counts_text(_counts(run))}"
