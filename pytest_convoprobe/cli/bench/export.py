"""`convoprobe bench export`: failures as scenario files, and results for other programs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...text import harmless
from ..console import Console, write_json
from ..exits import UsageProblem
from ..project import Project, json_option
from .shared.options import BenchOptions, folder_argument, loading_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...benchmark.format.project import LoadedBenchmark
    from ...benchmark.studies.handover import Lacking

_ELSEWHERE = (
    "note: pytest finds the scenarios in {} only if you name their files: by default, it searches folders "
    "named scenarios outside benchmark folders, and the patterns of the ini option convoprobe_files"
)


@click.command(short_help="Turn failures into scenario files; results for other programs.")
@folder_argument
@click.option(
    "--to-scenarios",
    "out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the scenario files.",
)
@click.option(
    "--results-as",
    "shape",
    type=click.Choice(["list"]),
    help="Print results.json as other programs read it: a list with one object for each target.",
)
@click.option(
    "--only", metavar="PATTERN", multiple=True, help="Only rows that match: an id, a scenario, a metric."
)
@click.option("--all", "every", is_flag=True, help="Also scenarios that every target passed.")
@loading_options
@json_option
def command(
    folder: Path,
    out: Path | None,
    shape: str | None,
    only: tuple[str, ...],
    every: bool,
    target: tuple[str, ...],
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Write the scenarios that some target failed as ordinary scenario files, so that pytest runs them as
    regression tests. A file that somebody has edited is never overwritten. Or print the results in the form
    that other programs read.

    \b
    Example:
        convoprobe bench export honesty --to-scenarios scenarios/from_honesty
        convoprobe bench export honesty --results-as list > results_list.json
    """  # noqa: D301 - click looks for the character itself
    if (out is None) is (shape is None):
        raise UsageProblem("say what to export: either --to-scenarios DIR or --results-as list")
    if out is None:
        _print_results(folder, target)
        return
    from ...benchmark.studies.export import export_scenarios

    loaded = BenchOptions(folder, target, config_file, replay="only").load()
    chosen = ",".join(only) or None
    # Report all problems of the settings before anything is written.
    handover = None if as_json else _Handover.of(loaded, config_file, chosen)
    written = export_scenarios(loaded, out, only=chosen, failed_only=not every)
    if handover is None:
        write_json({"written": [str(path) for path in written]})
        return
    _tell(Console.of(), written, every)
    if written:
        _tell_next(Console.of(), out, written[0], handover)


def _print_results(folder: Path, targets: Sequence[str]) -> None:
    """As a list, with only these targets where some are named."""
    from ...benchmark.analysis.aggregate import read_results
    from ...benchmark.format.folder import BenchmarkFolder
    from ...benchmark.studies.results_list import as_list

    results = as_list(read_results(BenchmarkFolder(folder)))
    chosen = {name.strip() for given in targets for name in given.split(",")}
    write_json([one for one in results if not chosen or one["model"] in chosen])


@dataclass(frozen=True)
class _Handover:
    """What there is to do before pytest can run the files: the settings in `file` lack what `lacking` has.

    `tested` is what pytest will then talk with; empty if neither these settings nor `config` name a target.
    """

    config: Path
    file: Path
    tested: str
    lacking: Lacking | None

    @classmethod
    def of(cls, loaded: LoadedBenchmark, config_file: Path | None, only: str | None) -> _Handover:
        from ...benchmark.format.project import load_project
        from ...benchmark.studies.export import failing_targets
        from ...benchmark.studies.handover import lacking
        from ...files import shown_path

        config, here = config_file or loaded.folder.config, Project.here()
        project = here.settings({"run.replay": "only"})
        file = project.file or here.root / "convoprobe.yaml"
        several = len(project.settings.targets) > 1
        named = project.settings.target is not None or project.settings.targets
        which = "the targets" if several else "the target"
        own = f"{which} of {shown_path(file)}" if named else ""
        known = [entry.id for entry in loaded.config.targets]
        if not known:
            return cls(config, file, own, None)
        name = next((name for name in failing_targets(loaded, only) if name in known), known[0])
        whole = load_project(loaded.folder.path, config_file=config_file, replay="only")
        lacks = lacking(whole, config, name, project, here.root)
        return cls(config, file, own or f"the target {name}", lacks)


def _tell(console: Console, written: Sequence[Path], every: bool) -> None:
    if not written:
        what = "scenario fits" if every else "scenario that fits was failed by a target"
        console.say(f"no {what}: nothing was written")
    for path in written:
        console.say(f"  wrote  {console.safe(str(path))}", "green")


def _tell_next(console: Console, out: Path, first: Path, handover: _Handover) -> None:
    found = _is_found(first)
    if not found:
        console.note(_ELSEWHERE.format(out))
    console.say()
    console.say("Next", "bold")
    _tell_settings(console, handover)
    command = f"pytest {shlex.quote(str(out))}{'' if found else '/*.yaml'}"
    console.say(f"  {console.safe(command):<46} talk with {console.safe(handover.tested or 'it')}")


def _tell_settings(console: Console, handover: _Handover) -> None:
    from ...errors import NoTarget
    from ...files import shown_path

    file, config = (console.safe(shown_path(path)) for path in (handover.file, handover.config))
    if not handover.tested:
        for line in str(NoTarget(file=file)).rstrip().split("\n"):
            console.say(f"  {line}".rstrip())
        console.say()
    if handover.lacking is None:
        return
    what = "add to" if handover.file.exists() else "write into a new"
    console.say(f"  {what} {file} (pytest doesn't read {config}, where this is from):")
    console.say()
    for line in handover.lacking.text.split("\n"):
        console.say(f"    {harmless(line)}".rstrip())
    console.say()
    for name in handover.lacking.variables:
        console.say(f"  {f'export {name}=...':<46} the secret in {config}")


def _is_found(file: Path) -> bool:
    """Whether pytest, started here, looks for scenarios where the file is."""
    from ...scenario.discovery import is_scenario_file

    path = file.absolute()
    roots = [root for root in (Project.here().root, Path.cwd()) if root in path.parents]
    return is_scenario_file(path, roots[0] if roots else path.parent)
