"""`convoprobe lint`: scenarios that can't notice what they are for."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...files import shown_path
from ...formatting import counted
from ..console import Console, write_json
from ..exits import FINDINGS, OK, TROUBLE, UsageProblem
from ..ignored_rules import require_rules
from ..project import Project, json_option
from ..scenario_files import NotRun, scenario_files

if TYPE_CHECKING:
    from ...lint.finding import LintFinding
    from ...lint.subject import Subject
    from ...settings.model_settings import ModelSettings


@click.command(short_help="Find criteria that can't notice anything.")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--ignore", "ignored", metavar="RULE", multiple=True, help="Leave out a rule; may be repeated.")
@click.option(
    "--level",
    type=click.Choice(["warning", "error"]),
    default="warning",
    show_default=True,
    help="The least level that makes the exit status 1.",
)
@click.option("--llm", "asks", is_flag=True, help="Ask the judge's model too: one call for each scenario.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    ignored: tuple[str, ...],
    level: str,
    asks: bool,
    as_json: bool,
) -> None:
    """Find what keeps scenarios from noticing a wrong agent: compound, vague and repeated criteria,
    contradictions, criteria about the user, those that code decides, turns that never come, limits that
    can't be broken, and facts that the user doesn't know. Nothing runs, and no model is called without --llm.

    A PATH is a file or a folder; without one, all scenarios of the project are looked at. Rules that read
    words read English. A comment `# convoprobe: ignore=RULE` beside or above a line leaves it out.

    The exit status is 0 without findings of that level, 1 with them, 2 for a wrong command line, and 3 if a
    model was to be asked and was not available.

    \b
    Example:
        convoprobe lint scenarios/ --ignore vague-criterion
    """  # noqa: D301 - click looks for the character itself
    from ...lint.linting import once_each
    from ...lint.rules import IDS

    require_rules(ignored, IDS)
    files = [one for path in paths or (Project.here().root,) for one in _files(path)]
    found = once_each([list(_of_file(file, fault, ignored)) for file, fault in files])
    problems: list[str] = []
    if asks:
        more, problems = _opinions([file for file, _ in files], ignored)
        found += more
    found.sort(key=lambda one: (one.problem.file, one.problem.line, one.problem.column))
    status = _status(found, level, problems)
    if as_json:
        findings = [one.to_json() for one in found]
        write_json({"exit_status": status, "files": len(files), "findings": findings, "problems": problems})
    else:
        _print(found, problems, len(files))
    ctx.exit(status)


def _files(path: Path) -> list[tuple[Path, NotRun]]:
    """Those below a folder. None at all is a wrong path, and must not look like scenarios without a fault."""
    found = list(scenario_files(path, ()))
    if not found:
        raise UsageProblem(f"{shown_path(path)}: no scenario files in this folder")
    return found


def _of_file(file: Path, fault: NotRun, ignored: Collection[str]) -> Iterator[LintFinding]:
    from ...errors import Problem
    from ...lint.finding import Level, LintFinding
    from ...lint.linting import lint_file
    from ...lint.rules import INVALID_FILE

    if not fault.unreadable:
        yield from lint_file(file, file=shown_path(file), ignore=ignored)
    elif INVALID_FILE not in ignored:
        problem = Problem(fault.reason, shown_path(file))
        yield LintFinding(INVALID_FILE, Level.ERROR, problem, "Put it right, or take it away.")


def _status(found: Sequence[LintFinding], level: str, problems: Sequence[str]) -> int:
    from ...lint.finding import Level

    if any(one.level.reaches(Level(level)) for one in found):
        return FINDINGS
    return TROUBLE if problems else OK


def _print(found: Sequence[LintFinding], problems: Sequence[str], files: int) -> None:
    console = Console.of()
    for one in found:
        place, *rest = str(one).split("\n")
        console.say(place, "red" if one.level.value == "error" else "yellow")
        for line in rest:
            console.say(line)
    for problem in problems:
        console.note(f"no opinion: {problem}")
    result = counted(len(found), "finding") if found else "nothing found"
    console.say(f"{counted(files, 'file')} looked at: {result}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        console.write(_annotations(found))


def _annotations(found: Sequence[LintFinding]) -> list[str]:
    from ...reports.annotations import Annotation, commands_of

    made = [
        Annotation(
            one.level.value,
            one.problem.file,
            one.problem.line,
            one.rule,
            f"{one.problem.message}. {one.advice}",
        )
        for one in found
    ]
    return commands_of(made, folder=Path.cwd(), environ=os.environ)


def _opinions(files: Sequence[Path], ignored: Collection[str]) -> tuple[list[LintFinding], list[str]]:
    """What the judges' models say."""
    from ...lint.opinion import opinions
    from ...llm.known_models import check_model
    from ...llm.port import Role
    from ..asking import asked_of_models

    project = Project.here()
    asked = list(_asked(files, project))
    for _, model in asked:
        check_model(model, Role.JUDGE)
    Console.of().note(f"asking a model about {counted(len(asked), 'scenario')}, one call each")
    return asked_of_models(
        project.settings(), lambda llm: opinions(llm, asked, ignored), "asking about the scenarios …"
    )


def _asked(files: Sequence[Path], project: Project) -> Iterator[tuple[Subject, ModelSettings]]:
    from ...errors import ScenarioFileError
    from ...lint.linting import subjects_of
    from ...settings.merge import scenario_settings

    source = project.source()
    for file in files:
        try:
            subjects = subjects_of(file, shown_path(file))
        except ScenarioFileError:
            continue  # it is among the findings
        loaded = source.of(str(file.absolute()))
        for subject in subjects:
            yield subject, scenario_settings(loaded, subject.scenario.config).judge
