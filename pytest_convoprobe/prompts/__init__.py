"""All prompts for the user, the judge and the benchmark's models: one `.jinja` file each, and `render`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Create the environment. Prompts are plain text, so nothing is escaped; a missing value is an error."""
    return Environment(
        loader=PackageLoader("pytest_convoprobe", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        auto_reload=False,  # else each prompt is looked up on the disk every time
    )


def render(name: str, **values: Any) -> str:
    """Fill in the prompt `name` (without `.jinja`), and remove surrounding blank lines."""
    return _environment().get_template(f"{name}.jinja").render(**values).strip()
