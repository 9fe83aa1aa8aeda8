"""`convoprobe new`: asks a few questions, and writes a scenario."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..console import Console, write_json
from ..exits import CommandFailed, UsageProblem
from ..project import json_option
from ..scenario_files import note_if_passed_by

if TYPE_CHECKING:
    from ...lint.finding import LintFinding
    from ..interview import ScenarioAnswers


@click.command(short_help="Answer a few questions, and get a scenario.")
@click.argument("name", required=False)
@click.option("--persona", metavar="TEXT", help="Who the user is, and what they want.")
@click.option("--says", metavar="TEXT", help="The user's first message.")
@click.option("--must", metavar="TEXT", multiple=True, help="What the agent must do; may be repeated.")
@click.option("--never", metavar="TEXT", multiple=True, help="What it must never do; may be repeated.")
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="A tool that it must call.")
@click.option("--no-tool", "no_tools", metavar="NAME", multiple=True, help="A tool that it must not call.")
@click.option("--description", metavar="TEXT", help="What the scenario tests; by default the first --must.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A word to select it by; may be repeated.")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="scenarios",
    show_default=True,
    help="The folder to write to.",
)
@json_option
def command(
    name: str | None,
    persona: str | None,
    says: str | None,
    must: tuple[str, ...],
    never: tuple[str, ...],
    tools: tuple[str, ...],
    no_tools: tuple[str, ...],
    description: str | None,
    tags: tuple[str, ...],
    folder: Path,
    as_json: bool,
) -> None:
    """Ask five questions, and write a scenario with the answers. NAME is its name, from which that of the
    file is made. A file that is there is never changed.

    What an option answers is not asked. Nothing is asked if --persona, --says, and --must or --tool are
    given. In a pipe, the answers are read from stdin, one a line. Nothing is written before the last one.

    \b
    Example:
        convoprobe new
        convoprobe new "Late order" --persona "Has waited for two weeks" --says "Where is my order?" \\
            --must "The agent asks for the order number" --tool find_order
    """  # noqa: D301 - click looks for the character itself
    from ..interview import ScenarioAnswers

    given = ScenarioAnswers(
        persona, says, must or None, never or None, tools or None, no_tools or None, name, description, tags
    )
    path, findings = _write(folder, _complete(given))
    if as_json:
        write_json({"file": str(path), "findings": [finding.to_json() for finding in findings]})
        return
    _tell(path, findings)


def _complete(given: ScenarioAnswers) -> ScenarioAnswers:
    from ..interview import BadAnswer, Interview

    try:
        known = given.checked()
    except BadAnswer as error:
        raise UsageProblem(str(error)) from None
    # Questions go to stderr: with --json, stdout is for a program.
    return known if known.suffice else Interview(_ask, _say).complete(known)


def _ask(question: str) -> str:
    click.echo(f"{question}\n> " if question else "> ", nl=False, err=True)
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError as error:
        raise UsageProblem(f"the answer isn't in {error.encoding}; nothing was written") from None
    if not line:
        click.echo(err=True)
        raise UsageProblem(
            "the input ended before the last question, so nothing was written; options answer questions, "
            "too: convoprobe new --help"
        )
    if not sys.stdin.isatty():
        click.echo(err=True)
    return line.rstrip("\r\n")


def _say(text: str) -> None:
    click.echo(Console.of(sys.stderr).safe(text), err=True)


def _write(folder: Path, answers: ScenarioAnswers) -> tuple[Path, Sequence[LintFinding]]:
    """The new file, and what lint says of it."""
    from ...errors import ScenarioFileError
    from ...lint.linting import lint_file
    from ...scenario.loading import parse_scenarios
    from ...scenario.new_files import as_yaml, file_name, write_new
    from ..interview import as_mapping

    scenario = as_mapping(answers)
    text = as_yaml(scenario, ())
    try:
        parse_scenarios(text, "the scenario")
    except ScenarioFileError as error:
        raise UsageProblem(f"nothing was written: {error}") from None
    try:
        path = write_new(folder, file_name(scenario["name"]), text)
    except OSError as error:
        raise CommandFailed(f"cannot write {error.filename or folder}: {error.strerror or error}") from None
    return path, lint_file(path)


def _tell(path: Path, findings: Sequence[LintFinding]) -> None:
    console = Console.of()
    console.say(f"wrote {console.safe(str(path))}")
    for finding in findings:
        words = f"{finding.problem.path}: {finding.problem.message}. {finding.advice}"
        console.say(f"  {console.safe(words)}")
    if note := note_if_passed_by(path.parent, [path]):
        console.note(note)
    console.say(f"run it: pytest {console.safe(shlex.quote(str(path)))}")
