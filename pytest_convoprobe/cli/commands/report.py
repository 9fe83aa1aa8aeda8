"""`convoprobe report`: a stored run as HTML, Markdown, JSON or JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...text import harmless
from ..console import Console
from ..exits import FINDINGS, UsageProblem
from ..project import Project, project_options

if TYPE_CHECKING:
    from ...reports.run_report import RunReport

PAGE = "convoprobe-report.html"
_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json", ".md": "md", ".xml": "junit"}


@click.command(short_help="Write a report on a stored run.")
@click.argument("run", default="latest")
@click.option("--html", "form", flag_value="html", help=f"An HTML page ({PAGE} without -o).")
@click.option("--json", "form", flag_value="json", help="JSON for programs.")
@click.option("--md", "form", flag_value="md", help="Markdown for a comment on a pull request.")
@click.option("--junit", "form", flag_value="junit", help="JUnit XML.")
@click.option(
    "--suggestions",
    is_flag=True,
    help="Show what models suggested about the agent's tools instead; as text, or with --json.",
)
@click.option("--schema", "form", flag_value="schema", help="Print the JSON Schema of --json instead.")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file; its suffix sets the format if no option does.",
)
@click.option("--baseline", metavar="RUN", help="Show what is worse or better than in this run.")
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    form: str | None,
    suggestions: bool,
    output: Path | None,
    baseline: str | None,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Write a report on a stored RUN, by default the latest. RUN is an id, `latest~2`, a folder, or a git
    branch, tag or commit. If the run broke off (its process ended without a word), the report is written and
    the exit status is 1.

    --suggestions gathers what the judge's model suggested after conversations that failed (with
    `judge.suggestions: true`), by severity and tool, with the scenarios that it comes from.

    \b
    Example:
        convoprobe report --html -o report.html
        convoprobe report latest --md --baseline main
    """  # noqa: D301 - click looks for the character itself
    chosen = form or (_SUFFIXES.get(output.suffix.lower()) if output else None)
    if suggestions:
        _suggestions(Project.here(config_file, results_dir), run, chosen, output)
        return
    if chosen is None:
        raise UsageProblem("choose a format: --html, --json, --md or --junit")
    if chosen == "schema":
        from ...reports.json_report import schema

        _put(json.dumps(schema(), indent=2) + "\n", output)
        return
    from ...results.run_info import ENDED_EARLY, RunState

    report = _read(Project.here(config_file, results_dir), run, baseline)
    for note in report.notes:
        Console.of().note(f"note: {report.info.id}: {note}")
    if chosen == "html":
        _page(report, output or Path(PAGE))
    else:
        _put(_WRITERS[chosen](report), output)
    if report.info.state is RunState.BROKEN_OFF:
        Console.of().note(f"{report.info.id} {ENDED_EARLY[report.info.state]}, and trials are missing")
        ctx.exit(FINDINGS)


def _read(project: Project, run: str, baseline: str | None) -> RunReport:
    from ...reports.run_report import read_report
    from ...results.store import list_runs

    stored = project.open(run)
    # A run that was fetched from elsewhere, such as a CI artifact, has its own past beside it, if any.
    beside = stored.path.parent.parent
    if not baseline:
        return read_report(stored, list_runs(beside))
    chosen = project.baseline(baseline, stored)
    return read_report(stored, list_runs(beside), chosen.run, notes=chosen.notes)


def _suggestions(project: Project, run: str, form: str | None, output: Path | None) -> None:
    from ...reports.tool_suggestions import gathered, suggestions_json, suggestions_text
    from ...results.trial_filter import final

    if form not in (None, "json"):
        raise UsageProblem("--suggestions is text, or JSON with --json")
    stored = project.open(run)
    found = gathered(stored.trial(row).result for row in final(stored.rows()))
    for note in stored.notes:
        Console.of().note(f"note: {stored.id}: {note}")
    if form == "json":
        _put(json.dumps(suggestions_json(stored.id, found), indent=1) + "\n", output)
    else:
        _put(harmless(suggestions_text(found)), output)


def _page(report: RunReport, path: Path) -> None:
    from ...reports.html import write_html

    try:
        write_html(report, path)
    except OSError as error:
        raise click.FileError(str(path), error.strerror or str(error)) from None
    click.echo(f"wrote {path}", err=True)


def _put(text: str, output: Path | None) -> None:
    """To the file, or to stdout."""
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise click.FileError(str(output), error.strerror or str(error)) from None
    click.echo(f"wrote {output}", err=True)


def _json(report: RunReport) -> str:
    from ...reports.json_report import json_report

    return json.dumps(json_report(report), indent=1, allow_nan=False) + "\n"


def _md(report: RunReport) -> str:
    from ...reports.markdown import markdown

    return markdown(report)


def _junit(report: RunReport) -> str:
    from ...reports.junit import junit

    return junit(report)


_WRITERS: dict[str, Callable[[RunReport], str]] = {"json": _json, "md": _md, "junit": _junit}
