"""`convoprobe bench report`: an HTML page with a benchmark's results."""

from __future__ import annotations

from pathlib import Path

import click

from ..console import Console, write_json
from ..exits import UsageProblem
from ..project import json_option
from .shared.options import folder_argument

_PAGE = "report.html"
_BESIDE = ""


@click.command(short_help="Write an HTML page with the results and conversations.")
@folder_argument
@click.option(
    "--html",
    "page",
    metavar="[FILE]",
    is_flag=False,
    flag_value=_BESIDE,
    default=_BESIDE,
    help="The page; by default DIR/report.html.",
)
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(min=0),
    default=2000,
    show_default=True,
    help="Include at most N conversations, failed ones first.",
)
@json_option
def command(folder: Path, page: str, most: int, as_json: bool) -> None:
    """Write an HTML page with the results of a benchmark: a leaderboard of the targets, pass rates by
    metric, gaps between groups, agreement, cost, and for each figure its conversations. It is one file that
    loads nothing from the network. --json prints its path.

    \b
    Example:
        convoprobe bench report honesty --html honesty.html
    """  # noqa: D301 - click looks for the character itself
    from ...benchmark.format.folder import BenchmarkFolder
    from ...benchmark.report import write_report

    files = BenchmarkFolder(folder)
    if not files.benchmark.exists() and not files.results.exists():
        raise UsageProblem(f"{folder}: not a benchmark: it has neither benchmark.yaml nor results.json")
    out = files.path / _PAGE if page == _BESIDE else Path(page)
    try:
        written = write_report(files, out, most_conversations=most)
    except OSError as error:
        raise click.FileError(str(out), error.strerror or str(error)) from None
    if as_json:
        write_json({"written": str(written)})
    else:
        console = Console.of()
        console.say(f"wrote {console.safe(str(written))}")
