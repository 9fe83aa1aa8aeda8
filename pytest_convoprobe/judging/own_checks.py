"""Checks that code of the project decided, as plain data."""

from __future__ import annotations

from ..targets.plain_values import clean_text, shown
from .types import CheckResult


def own_check(check: object) -> CheckResult:
    """A check of the project's own: a falsy word for "no" must not pass for a yes."""
    if not isinstance(check, CheckResult):
        raise TypeError(f"a check has to be a CheckResult, not {type(check).__name__}: {shown(check)}")
    # Plain data, made here where it has a time limit: its parts may be objects of the project.
    name, expected, found = (clean_text(str(part)) for part in (check.name, check.expected, check.found))
    turn = None if check.turn is None else int(check.turn)
    return CheckResult(name, bool(check.holds), expected, found, turn)
