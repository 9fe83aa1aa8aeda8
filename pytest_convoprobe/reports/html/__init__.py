"""A run as one HTML file that needs nothing else: no network, no server, no other file.

Texts of models, targets and tools come in as escaped HTML, or as JSON in script elements that are not
scripts, from where the page's own script puts them in as text only. A content security policy
names the one script and the one style sheet by their hashes and allows nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..run_report import RunReport
from .frame import Frame, write_page
from .page import context

__all__ = ["html_chunks", "write_html"]

_FRAME = Frame(__name__, "page.html.jinja", ("style.css",), ("parts.js", "script.js"))


def write_html(report: RunReport, path: Path) -> None:
    """Write the page, in one step; folders that are missing are made. Raises OSError."""
    write_page(path, html_chunks(report))


def html_chunks(report: RunReport) -> Iterator[str]:
    """The page, piece by piece."""
    yield from _FRAME.chunks(**context(report))
