"""Regular expressions that a project wrote, looked for within a time limit.

Python's `re` has no time limit: `(a+)+$` against some forty letters takes years and, as it keeps the
interpreter to itself, stops everything else. The package `regex` has one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .formatting import exact_seconds


@lru_cache(maxsize=512)
def compiled(expression: str, ignore_case: bool = False) -> Any:
    """The expression as a pattern of `regex`, whose methods take a `timeout` in seconds.

    Raises `regex.error`, RecursionError or OverflowError for what can't be used.
    """
    import regex  # here, since only some projects write expressions

    return regex.compile(expression, regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0))


def without_an_end(expression: str, text: str, seconds: float) -> str:
    """The words for an expression that took longer; `text` says what it was looked for in."""
    return (
        f"the pattern /{expression}/ was looked for in {text} for {exact_seconds(seconds)} without an end. "
        "Repetitions inside repetitions, like (a+)+, do that: write it without them"
    )
