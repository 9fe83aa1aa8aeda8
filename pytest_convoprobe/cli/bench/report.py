"""`convoprobe bench report`: a page on a benchmark's results."""

from __future__ import annotations

from pathlib import Path

import click

from ..console import Console, write_json
from ..exits import UsageProblem
from ..project import json_option
from .shared.options import folder_argument

_PAGE = "report.html"
_BESIDE = ""


@click.command(short_help="Write a page on the results, with every conversation.")
@folder_argument
@click.option(
    "--html",
    "page",
    metavar="[FILE]",
    is_flag=False,
    flag_value=_BESIDE,
    default=_BESIDE,
    help="The page; DIR/report.html if no FILE is named.",
)
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(min=0),
    default=2000,
    show_default=True,
    help="Put at most N conversations into the page, failed ones first.",
)
@json_option
def command(folder: Path, page: str, most: int, as_json: bool) -> None:
    """Write a page for a browser on the results of a benchmark: a leaderboard of the targets, pass rates by
    metric, gaps between groups, agreement, cost, and behind each figure its conversations. It is one file
    that loads nothing. --json prints where it is.

    \b
    Example:
        convoprobe bench report honesty --html honesty.html
    """  # noqa: D301 - click looks for the character itself
    from ...benchmark.format.folder import BenchmarkFolder
    from ...benchmark.report import write_report

    files = BenchmarkFolder(folder)
    if not files.benchmark.exists() and not files.results.exists():
        raise UsageProblem(f"{folder}: there is no benchmark in it, neither benchmark.yaml nor results.json")
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
