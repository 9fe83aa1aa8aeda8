"""What every page has: one file, one script, one style sheet, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from ...files import locked, write_atomically

_SHARED: str = __package__ or ""


class Frame:
    """A page's template with its style sheets and scripts.

    Names are of files in `package`, or else of those that all pages share, in this one.
    """

    def __init__(self, package: str, template: str, styles: Sequence[str], scripts: Sequence[str]) -> None:
        self._package = package
        self._template = template
        self._styles = styles
        self._scripts = scripts

    def chunks(self, **values: Any) -> Iterator[str]:
        """The page, piece by piece; iterables among the values are asked for what they have as it is written.

        All values are escaped, but for JSON (see `for_script`) that the template passes through `as_is`.
        """
        style, script = self._joined(self._styles), self._joined(self._scripts)
        yield from _template(self._package, self._template).generate(
            **values, style=style, script=script, policy=_policy(style, script), as_is=Markup
        )

    def _joined(self, names: Iterable[str]) -> Markup:
        return Markup("\n".join(_file(self._package, name) for name in names))  # noqa: S704 - our own files


def write_page(path: Path, chunks: Iterable[str]) -> None:
    """Write a page in one step, as its pieces come; folders that are missing are made. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        write_atomically(path, (chunk.encode("utf-8") for chunk in chunks))


def for_script(data: Any) -> str:
    """Data as JSON that can't end the script element around it, nor begin a comment there."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _file(package: str, name: str) -> str:
    file = resources.files(package).joinpath(name)
    if package != _SHARED and not file.is_file():
        return _file(_SHARED, name)
    return file.read_text(encoding="utf-8")


@cache
def _template(package: str, name: str) -> Template:
    environment = Environment(
        loader=FunctionLoader(lambda file: _file(package, file)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
