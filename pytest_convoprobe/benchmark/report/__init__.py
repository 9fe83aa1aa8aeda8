"""A benchmark's results as one HTML file that needs nothing else, with the conversations behind each figure.

It is made like the page of a run (see `reports.html`): conversations come in escaped, in script elements that
are not scripts, from where they are put in when they are looked at; the rest as JSON, which the page's script
puts in as text only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...reports.html.frame import Frame, write_page
from ..format.folder import BenchmarkFolder
from .conversations import conversations, elements
from .material import gather
from .sections import context

__all__ = ["MOST_CONVERSATIONS", "html_chunks", "write_report"]

MOST_CONVERSATIONS = 2000

_FRAME = Frame(
    __name__, "benchmark.html.jinja", ("style.css", "talk.css", "benchmark.css"), ("parts.js", "benchmark.js")
)


def write_report(folder: BenchmarkFolder, out: Path, *, most_conversations: int = MOST_CONVERSATIONS) -> Path:
    """Write the page of what is in the folder, in one step; it says what isn't there yet.

    At most `most_conversations` are in it, failed ones first; it says how many were left out. Raises
    `ResultsError` for results that cannot be read, `OSError` where the disk refuses.
    """
    write_page(out, html_chunks(folder, most_conversations))
    return out


def html_chunks(folder: BenchmarkFolder, most_conversations: int = MOST_CONVERSATIONS) -> Iterator[str]:
    """The page, piece by piece; conversations are read as they are written."""
    material = gather(folder, most_conversations)
    yield from _FRAME.chunks(**context(material), data=elements(material), talks=conversations(material))
