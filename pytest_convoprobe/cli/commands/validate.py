"""`convoprobe validate`: check scenario files without pytest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ...scenario.loading import LoadedScenario


@click.command(short_help="Check scenario files.")
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing of files that are good.")
@click.option(
    "--pattern",
    "patterns",
    metavar="GLOB",
    multiple=True,
    help="What a scenario file is called, instead of the usual patterns; may be given several times.",
)
@click.pass_context
def command(ctx: click.Context, paths: tuple[Path, ...], quiet: bool, patterns: tuple[str, ...]) -> None:
    """Check scenario files, and the scenario files in folders, without running them.

    A file is checked whatever its name. In folders, the files are the ones that pytest collects:
    *.yaml and *.yml below a folder named `scenarios`, and *.scenario.yaml anywhere.

    The exit status is 0 if all is well, 1 if something is wrong, 2 for a wrong command line.

    \b
    Example:
        convoprobe validate scenarios/ tests/refund.scenario.yaml
    """  # noqa: D301 - click looks for the character itself
    tally = _Tally()
    for path in paths:
        files = tuple(_files(path, patterns))
        if not files:
            click.echo(f"{path}: no scenario files in this folder", err=True)
            tally.broken += 1
        for file in files:
            _check(file, quiet, tally)
    click.echo(tally.summary())
    ctx.exit(1 if tally.broken else 0)


@dataclass
class _Tally:
    files: int = 0
    broken: int = 0
    scenarios: int = 0
    problems: int = 0

    def summary(self) -> str:
        checked = f"{_count(self.files, 'file')} checked, {_count(self.scenarios, 'scenario')}"
        return f"{checked}, {_count(self.problems, 'problem')}" if self.problems else f"{checked}, all good"


def _files(path: Path, patterns: Sequence[str]) -> Iterator[Path]:
    from ...scenario.discovery import DEFAULT_PATTERNS, find_scenario_files

    if path.is_dir():
        yield from find_scenario_files(path, patterns=patterns or DEFAULT_PATTERNS)
    else:
        yield path


def _check(file: Path, quiet: bool, tally: _Tally) -> None:
    from ...errors import ScenarioFileError
    from ...scenario.loading import load_scenarios

    tally.files += 1
    try:
        loaded = load_scenarios(file)
    except ScenarioFileError as error:
        tally.broken += 1
        tally.problems += len(error.problems)
        click.echo(str(error))
        return
    tally.scenarios += len(loaded)
    if not quiet:
        click.echo(_good(file, loaded))


def _good(file: Path, loaded: Sequence[LoadedScenario]) -> str:
    skipped = sum(scenario.skip is not None for scenario in loaded)
    return f"{file}: ok, {_count(len(loaded), 'scenario')}{f' ({skipped} skipped)' if skipped else ''}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
