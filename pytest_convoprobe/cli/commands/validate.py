"""`convoprobe validate`: check scenario files without pytest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import counted
from ...text import harmless, one_line
from ..console import write_json
from ..exits import FINDINGS, OK
from ..project import Project, json_option
from ..scenario_files import NotRun, scenario_files

if TYPE_CHECKING:
    from ...errors import Problem
    from ...scenario.loading import LoadedScenario
    from ...settings.loading import LoadedSettings


@click.command(short_help="Check scenario files.")
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing for valid files.")
@click.option(
    "--pattern",
    "patterns",
    metavar="GLOB",
    multiple=True,
    help="Pattern of scenario files in folders, instead of those that pytest has; may be repeated.",
)
@click.option(
    "--with-target",
    is_flag=True,
    help="Start the target of the settings, and compare the names of tools with its tools.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    quiet: bool,
    patterns: tuple[str, ...],
    with_target: bool,
    as_json: bool,
) -> None:
    """Check scenario files without running them.

    A PATH that is a file is checked whatever its name, and *.labels.yaml as a labels file. In a folder, all
    scenario files are checked: *.yaml and *.yml below a folder named `scenarios`, and *.scenario.yaml
    anywhere, or what pytest's ini option convoprobe_files says. A file that pytest would not come by, or that
    nobody can read, is a problem.

    The exit status is 0 if all files are valid, 1 if something is wrong, 2 for a wrong command line.

    \b
    Example:
        convoprobe validate scenarios/ tests/refund.scenario.yaml
    """  # noqa: D301 - click looks for the character itself
    tally = _Tally(tools=_Tools() if with_target else None)
    checked = list(_checked(paths, patterns, tally, show=not as_json, quiet=quiet))
    if as_json:
        write_json(checked)
    else:
        click.echo(tally.summary())
    ctx.exit(FINDINGS if tally.broken else OK)


def _checked(
    paths: Sequence[Path], patterns: Sequence[str], tally: _Tally, *, show: bool, quiet: bool
) -> Iterator[dict[str, Any]]:
    """Each file with its scenarios and problems, shown as it is checked."""
    for path in paths:
        files = tuple(scenario_files(path, patterns))
        if not files:
            click.echo(f"{path}: no scenario files in this folder", err=True)
            tally.broken += 1
        for file, fault in files:
            loaded, problems, text = _check(file, tally) if not fault.unreadable else ((), (), "")
            problems, text = _with_fault(file, fault, problems, text, tally)
            if show and (problems or not quiet):
                click.echo(text)
            yield {"file": str(file), "scenarios": [one.id for one in loaded], "problems": problems}


def _with_fault(
    file: Path, fault: NotRun, problems: Sequence[Problem], text: str, tally: _Tally
) -> tuple[Sequence[Problem], str]:
    from ...errors import Problem

    if not fault.reason:
        return problems, text
    problem = Problem(fault.reason, str(file))
    tally.broken += 1
    tally.problems += 1
    return (*problems, problem), "\n".join(filter(None, (text if problems else "", str(problem))))


class _Tools:
    """The tools of the target in the settings. Scenarios elsewhere in the project may have another target."""

    def __init__(self) -> None:
        self._project = Project.here()
        self._settings = self._project.source({"run.replay": "only"})
        self._known: dict[tuple[Path | None, str], tuple[str, ...] | None] = {}

    def targets(self, file: Path) -> list[tuple[str, LoadedSettings]]:
        """The section of each target for this scenario file, and the settings with it."""
        from ...settings.several_targets import each_target

        return list(each_target(self._settings.of(str(file.absolute()))))

    def of(self, section: str, loaded: LoadedSettings) -> tuple[str, ...] | None:
        """The tools of a target; the first time, a note where it doesn't say them."""
        from ..event_loop import run_async
        from ..tool_names import names_of_tools

        key = loaded.file, section
        if key not in self._known:
            starting = names_of_tools(loaded, self._project.root)
            self._known[key] = run_async(starting, "starting the target …")
            if self._known[key] is None:
                click.echo(_NOT_SAID.format(section=section), err=True)
        return self._known[key]


_NOT_SAID = (
    "note: the target doesn't say which tools it has, so names of tools are not checked; "
    "list them in {section}.tools"
)


@dataclass
class _Tally:
    tools: _Tools | None = None
    files: int = 0
    broken: int = 0
    scenarios: int = 0
    problems: int = 0

    def summary(self) -> str:
        checked = f"{counted(self.files, 'file')} checked, {counted(self.scenarios, 'scenario')}"
        if self.problems:
            return f"{checked}, {counted(self.problems, 'problem')}"
        return checked if self.broken else f"{checked}, all good"


def _check(file: Path, tally: _Tally) -> tuple[Sequence[LoadedScenario], Sequence[Problem], str]:
    """The scenarios of a file or what is wrong with it, and that in words."""
    from ...errors import ScenarioFileError
    from ...scenario.discovery import has_name_of_labels, looks_like_scenario
    from ...scenario.loading import load_scenarios

    tally.files += 1
    try:
        if has_name_of_labels(file) and not looks_like_scenario(file):
            return (), (), _good_labels(file)
        loaded = load_scenarios(file)
    except ScenarioFileError as error:
        tally.broken += 1
        tally.problems += len(error.problems)
        return (), error.problems, str(error)
    tally.scenarios += len(loaded)
    _note_ended(file, loaded)
    problems, text = _names(file, loaded, tally)
    if missing := _missing_checks(loaded):
        tally.broken += not problems
        tally.problems += len(missing)
        problems, text = [*problems, *missing], "\n".join(filter(None, (text, *map(str, missing))))
    return loaded, problems, text or _good(file, loaded)


def _missing_checks(loaded: Sequence[LoadedScenario]) -> list[Problem]:
    """The functions named as checks that are not there; nothing is imported."""
    if not any(one.scenario and one.scenario.evaluation.checks for one in loaded):
        return []
    from ...runs.check_places import wrong_checks

    root = Project.here().root
    return [problem for one in loaded for problem in wrong_checks(one, root)]


def _note_ended(file: Path, loaded: Sequence[LoadedScenario]) -> None:
    """Say which scenarios block again because their day is over: nothing in the file shows it."""
    from ...scenario.gate_rule import mode_of

    for one in loaded:
        rule = one.scenario.gate if one.scenario else None
        mode, words = mode_of(rule, date.today())
        if mode == "block" and words:
            click.echo(harmless(f"note: {file}:{one.line}: {one.id}: {one_line(words)}"), err=True)


def _names(file: Path, loaded: Sequence[LoadedScenario], tally: _Tally) -> tuple[Sequence[Problem], str]:
    """What scenarios name that the target doesn't have, and that in words."""
    if tally.tools is None:
        return (), ""
    problems = [
        problem
        for section, settings in tally.tools.targets(file)
        for problem in _of_target(loaded, section, settings, tally.tools)
    ]
    tally.broken += bool(problems)
    tally.problems += len(problems)
    return problems, "\n".join(map(str, problems))


def _of_target(
    scenarios: Sequence[LoadedScenario], section: str, settings: LoadedSettings, known: _Tools
) -> list[Problem]:
    """The names of tools that mean none of a target's, and the faults of models that can't happen with it."""
    from ..tool_names import faults_of_target, name_problems, unreachable_models

    tools = known.of(section, settings)
    found = ([], []) if tools is None else name_problems(scenarios, tools, faults_of_target(settings))
    whose = "" if section == "target" else f"{section}: "
    for note in found[1]:
        click.echo(f"note: {whose}{note}", err=True)
    problems = [*found[0], *unreachable_models(scenarios, settings)]
    return [replace(problem, message=f"{whose}{problem.message}") for problem in problems]


def _good_labels(file: Path) -> str:
    """That a labels file is valid. Raises `ScenarioFileError`."""
    from ...calibration.labels_file import load_labels

    found = load_labels(file)
    conversations = counted(len(found.conversations), "labelled conversation")
    return f"{file}: ok, {conversations}, {counted(found.labels, 'label')}"


def _good(file: Path, loaded: Sequence[LoadedScenario]) -> str:
    skipped = sum(scenario.skip is not None for scenario in loaded)
    return f"{file}: ok, {counted(len(loaded), 'scenario')}{f' ({skipped} skipped)' if skipped else ''}"
