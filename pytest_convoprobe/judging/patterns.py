"""Regular expressions of scenarios, matched within a time limit.

A scenario's patterns are those of Python's `re`. The package `regex`, which has a time limit, reads them in
the same way, except for what is escaped here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ..errors import ScenarioError
from ..timed_patterns import compiled, without_an_end

SECONDS = 2.0
"""How long one pattern may be looked for in one text."""

_ESCAPED = r"\\N\{[^}]*\}|\\."
_OUTSIDE = re.compile(_ESCAPED + r"|\[\^?\]?|\{\d*,?\d*\}|.", re.DOTALL)
_IN_SET = re.compile(_ESCAPED + r"|.", re.DOTALL)


def is_found(pattern: str, text: str, where: str, *, ignore_case: bool = False) -> bool:
    """Whether the pattern is found somewhere in the text, as by `re.search`.

    Raises `ScenarioError` if that takes too long; `where` says what the text is.
    """
    try:
        return _compiled(pattern, ignore_case).search(text, timeout=SECONDS) is not None
    except RecursionError:
        raise ScenarioError(f"the pattern /{pattern[:60]}…/ is nested too deeply") from None
    except TimeoutError:
        words = f"{where} ({len(text):,} characters)"
        raise ScenarioError(without_an_end(pattern, words, SECONDS)) from None


@lru_cache(maxsize=256)
def _compiled(pattern: str, ignore_case: bool) -> Any:
    return compiled(as_regex(pattern), ignore_case)


def as_regex(pattern: str) -> str:
    r"""The pattern of `re`, as the package `regex` has to be given it.

    There, `{…}` that does not count repetitions means an approximate match, `[:alpha:]` in a set is a class,
    and `\s` leaves out four separators.
    """
    parts, place, in_set = [], 0, False
    while found := (_IN_SET if in_set else _OUTSIDE).match(pattern, place):
        part, place = found[0], found.end()
        parts.append((_AS_IN_SET if in_set else _AS_OUTSIDE).get(part, part))
        in_set = part != "]" if in_set else part[0] == "["
    return "".join(parts)


_AS_OUTSIDE = {"{": r"\{", r"\s": r"[\s\x1c-\x1f]", r"\S": r"[^\s\x1c-\x1f]"}
_AS_IN_SET = {"[": r"\[", r"\s": r"\s\x1c-\x1f"}
