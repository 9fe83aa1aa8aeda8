"""Regular expressions of scenarios, matched within a time limit.

A scenario's patterns are those of Python's `re`, which has no time limit: `(a+)+$` against some forty
letters takes years and, as it keeps the interpreter to itself, stops everything else. The package
`regex` has a limit, and reads the same patterns in the same way, except for what is escaped here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ..errors import ScenarioError
from ..formatting import exact_seconds

SECONDS = 2.0
"""How long one pattern may be looked for in one text."""

_ESCAPED = r"\\N\{[^}]*\}|\\."
_OUTSIDE = re.compile(_ESCAPED + r"|\[\^?\]?|\{\d*,?\d*\}|.", re.DOTALL)
_IN_SET = re.compile(_ESCAPED + r"|.", re.DOTALL)


def is_found(pattern: str, text: str, where: str) -> bool:
    """Whether the pattern is found somewhere in the text, as by `re.search`.

    Raises `ScenarioError` if that takes too long; `where` says what the text is.
    """
    try:
        return _compiled(pattern).search(text, timeout=SECONDS) is not None
    except RecursionError:
        raise ScenarioError(f"the pattern /{pattern[:60]}…/ is nested too deeply") from None
    except TimeoutError:
        raise ScenarioError(
            f"the pattern /{pattern}/ was looked for in {where} ({len(text):,} characters) for "
            f"{exact_seconds(SECONDS)} without an end. Repetitions inside repetitions, like (a+)+, do that: "
            "write it without them"
        ) from None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    import regex  # here, since only some scenarios have patterns

    return regex.compile(as_regex(pattern), regex.VERSION0)


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
