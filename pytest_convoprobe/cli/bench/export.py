"""`convoprobe bench export`: conversations become scenario files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..console import Console, write_json
from ..project import json_option
from .shared.options import Asked, folder_argument, loading_options

if TYPE_CHECKING:
    from collections.abc import Sequence

_ELSEWHERE = (
    "note: pytest doesn't look for scenarios in {}: by its usual patterns it does below a folder called "
    "scenarios; the ini option convoprobe_files names others"
)


@click.command(short_help="Turn failures into scenario files: regression tests.")
@folder_argument
@click.option(
    "--to-scenarios",
    "out",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the scenario files.",
)
@click.option(
    "--only", metavar="PATTERN", multiple=True, help="Only rows that fit: an id, a scenario, a metric."
)
@click.option("--all", "every", is_flag=True, help="Also scenarios that every target passed.")
@loading_options
@json_option
def command(
    folder: Path,
    out: Path,
    only: tuple[str, ...],
    every: bool,
    target: tuple[str, ...],
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Write the scenarios that some target failed as ordinary scenario files, so that pytest holds these
    conversations from now on. A file that somebody has edited since is never overwritten.

    \b
    Example:
        convoprobe bench export honesty --to-scenarios scenarios/from_honesty
    """  # noqa: D301 - click looks for the character itself
    from ...benchmark.export import export_scenarios
    from ...scenario.discovery import is_scenario_file

    loaded = Asked(folder, target, config_file, replay="only").load()
    written = export_scenarios(loaded, out, only=",".join(only) or None, failed_only=not every)
    if as_json:
        write_json({"written": [str(path) for path in written]})
    else:
        _tell(Console.of(), written, every)
    if written and not is_scenario_file(written[0].absolute(), loaded.root):
        Console.of().note(_ELSEWHERE.format(out))


def _tell(console: Console, written: Sequence[Path], every: bool) -> None:
    if not written:
        what = "scenario fits" if every else "scenario that fits was failed by a target"
        console.say(f"no {what}: nothing was written")
    for path in written:
        console.say(f"  wrote  {console.safe(str(path))}", "green")
