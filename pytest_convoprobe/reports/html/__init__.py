"""A run as one HTML file that needs nothing else: no network, no server, no other file.

Texts of models, targets and tools come in as escaped HTML. What a trial has to say is in a `noscript` element
until it is unfolded: a browser without scripts shows it, and one with them keeps thousands of trials as plain
text. A content security policy names the one script and the one style sheet by their hashes and allows
nothing else.

`html_chunks` is the page of a run (`run_report.read_report` reads one), `comparison_chunks` that of two runs
side by side (`run_pair.read_run_pair`). Both are pure functions of what they are given, and both take `links`
(see `links.SiteLinks`) where they are part of a site. The page of a run has each of its conversations under
an anchor (see `anchors`), so a link to a conversation needs no page of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...results.history import Trend
from ..run_pair import RunPair
from ..run_report import RunReport
from .frame import Frame, write_page
from .links import STANDS_ALONE, SiteLinks
from .page import context
from .run_list import ListedRun
from .run_list import context as listed
from .side_by_side import context as compared
from .trend_list import context as trending

__all__ = [
    "ListedRun",
    "SiteLinks",
    "comparison_chunks",
    "html_chunks",
    "run_list_chunks",
    "trends_chunks",
    "write_comparison",
    "write_html",
]

_SCRIPTS = ("parts.js", "trials.js", "search.js", "script.js")

_STYLES = ("style.css", "talk.css", "page.css")

_FRAME = Frame(__name__, "page.html.jinja", _STYLES, _SCRIPTS)
_LIST = Frame(__name__, "runs.html.jinja", ("style.css", "page.css", "site.css"), ())
_TRENDS = Frame(__name__, "trends.html.jinja", ("style.css", "page.css", "site.css"), ())
_COMPARISON = Frame(__name__, "compare.html.jinja", (*_STYLES, "compare.css"), _SCRIPTS)


def write_html(report: RunReport, path: Path) -> None:
    """Write the page, in one step; folders that are missing are made. Raises OSError."""
    write_page(path, html_chunks(report))


def html_chunks(
    report: RunReport, links: SiteLinks = STANDS_ALONE, *, is_part: bool = False
) -> Iterator[str]:
    """The page, piece by piece; `is_part` says that the report has only some trials of its run."""
    yield from _FRAME.chunks(**context(report, links, is_part=is_part))


def write_comparison(pair: RunPair, path: Path) -> None:
    """Write the page of two runs, as `write_html` does."""
    write_page(path, comparison_chunks(pair))


def comparison_chunks(pair: RunPair, links: SiteLinks = STANDS_ALONE) -> Iterator[str]:
    """The page of two runs side by side, piece by piece."""
    yield from _COMPARISON.chunks(**compared(pair, links))


def run_list_chunks(
    runs: Sequence[ListedRun], links: SiteLinks, *, base: str = "", more: str = ""
) -> Iterator[str]:
    """The page with the list of runs, of a site; with a `base`, each leads to its comparison with that run.

    `more` is the address of the list with all runs, where there are more.
    """
    yield from _LIST.chunks(**listed(runs, links, base, more))


def trends_chunks(trends: Sequence[Trend], links: SiteLinks, notes: Sequence[str] = ()) -> Iterator[str]:
    """The page with each scenario over its latest runs, of a site; `notes` say which runs are left out."""
    yield from _TRENDS.chunks(**trending(trends, links, notes))
