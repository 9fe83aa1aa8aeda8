"""Every text that a model of ours is told, one `.jinja` file a prompt, and the way to render it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Prompts are plain text, not HTML: nothing is escaped, and a missing value is an error."""
    return Environment(
        loader=PackageLoader("pytest_convoprobe", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def render(name: str, **values: Any) -> str:
    """The prompt `name` (without `.jinja`) filled in; surrounding blank lines are cut."""
    return _environment().get_template(f"{name}.jinja").render(**values).strip()
