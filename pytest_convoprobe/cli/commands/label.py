"""`convoprobe label`: say of stored conversations what is true, to measure the judge by it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..console import Console
from ..exits import UsageProblem
from ..keyword_expression import selects
from ..project import Project, expression_option, project_options

if TYPE_CHECKING:
    from ...results.store import IndexRow, StoredRun
    from ...scenario.loading import LoadedScenario

_FILE = "judge.labels.yaml"


@click.command(short_help="Say what is true of stored conversations, to measure the judge by it.")
@click.argument("run")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=_FILE,
    show_default=True,
    help="The labels file. It is added to if it exists.",
)
@click.option("--failed", is_flag=True, help="Only conversations that failed.")
@expression_option
@project_options
def command(
    run: str,
    output: Path,
    failed: bool,
    expression: str | None,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Walk through the conversations of a stored RUN, and say of each criterion whether it is true. The
    judge's word is hidden until you have answered.

    The answers are written to a labels file as you go, with the whole conversation, so it can be committed.
    Stop at any time (q or Ctrl-C) and go on later: what has an answer isn't asked again. `pytest FILE` then
    shows how far the judge agrees with you.

    \b
    Example:
        convoprobe label latest --failed -o tests/refunds.labels.yaml
    """  # noqa: D301 - click looks for the character itself
    from ..labelling import Labelling

    _require_fit(output)
    project = Project.here(config_file, results_dir)
    stored = project.open(run)
    rows = _rows(stored, selects(expression), failed=failed)
    sitting = Labelling(
        stored, output, Console.of(), _ask, mask=_mask(project), scenario_of=_scenarios(project)
    )
    try:
        sitting.go_through(rows)
    finally:
        click.echo(_summary(sitting.labels, output))


def _require_fit(output: Path) -> None:
    from ...scenario.discovery import LABELS_ENDINGS, has_name_of_labels

    if not has_name_of_labels(output) or output.suffix == ".jsonl":
        raise UsageProblem(f"the name of a labels file ends in {LABELS_ENDINGS[0]}; got {output.name}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageProblem(
            "`convoprobe label` asks a person, so it needs a terminal; to make labels by a program, write "
            "the file itself (`convoprobe schema --labels` has its format)"
        )


def _rows(stored: StoredRun, chosen: Callable[[IndexRow], bool], *, failed: bool) -> list[IndexRow]:
    from ...result import Outcome
    from ...results.store import final

    every = sorted(final(stored.rows()), key=lambda row: (row.scenario_id, row.trial))
    rows = [row for row in every if chosen(row) and (not failed or row.outcome is Outcome.FAILED)]
    if not rows:
        raise UsageProblem(f"nothing to label in {stored.id}: no conversation matches")
    return rows


def _ask(question: str) -> str | None:
    click.echo(question, nl=False)
    line = sys.stdin.readline()
    return line or None


def _mask(project: Project) -> Callable[[str], str]:
    """What was stored is masked; today's settings may know of more."""
    from ...pseudonyms import Masking
    from ...redaction import Redactor
    from ...settings.mask_rules import patterns_of

    loaded = project.settings({"run.replay": "only"})
    redactor, masking = Redactor(loaded.secrets), Masking(patterns_of(loaded.settings.results.mask))
    return lambda text: masking.anonymous(redactor.text(text))


def _scenarios(project: Project) -> Callable[[IndexRow], LoadedScenario | None]:
    """Scenarios as they are today: their descriptions, which the judge reads, are in no stored run."""
    from ...errors import ConvoprobeError
    from ...runs.current_scenarios import Scenarios

    scenarios = Scenarios(project.root)

    def scenario_of(row: IndexRow) -> LoadedScenario | None:
        try:
            return scenarios.of(row)
        except ConvoprobeError:
            return None

    return scenario_of


def _summary(labels: int, output: Path) -> str:
    from ...files import shown_path
    from ...formatting import counted
    from ...text import harmless

    file = shown_path(output)
    if not labels:
        return "\nno new labels"
    return harmless(f"\n{counted(labels, 'new label')} in {file}; how far the judge agrees: pytest {file}")
