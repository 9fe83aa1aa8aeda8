"""Pages show the files in docs/examples, which tests run, and no copies of them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_each_example_is_shown_on_a_page() -> None:
    """In a fence ``` { .python }: a formatter takes ```python for code, and breaks the line for the file."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    shown = re.findall(r'^ *--8<-- "(.+)"$', pages, re.MULTILINE)
    examples = {
        path.relative_to(DOCS).as_posix()
        for path in DOCS.glob("examples/**/*.*")
        # Recordings are made from the others, and nobody wrote them.
        if path.suffix != ".pyc" and "_recordings" not in path.parts
    }
    assert examples == set(shown)
    assert pages.count("--8") == len(shown)
