"""A run as one HTML file that needs nothing else: no network, no server, no other file.

Texts of models, targets and tools come in as escaped HTML, or as JSON in script elements that are not
scripts, from where the page's own script puts them in as text only. A content security policy
names the one script and the one style sheet by their hashes and allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from ...files import locked, write_atomically
from ..run_report import RunReport
from .page import context

__all__ = ["html_chunks", "write_html"]


def write_html(report: RunReport, path: Path) -> None:
    """Write the page, in one step; folders that are missing are made. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        write_atomically(path, b"".join(chunk.encode("utf-8") for chunk in html_chunks(report)))


def html_chunks(report: RunReport) -> Iterator[str]:
    """The page, piece by piece."""
    style, script = Markup(_file("style.css")), Markup(_file("script.js"))  # noqa: S704 - our own files
    yield from _template().generate(
        **context(report), style=style, script=script, policy=_policy(style, script), as_is=Markup
    )


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja")
