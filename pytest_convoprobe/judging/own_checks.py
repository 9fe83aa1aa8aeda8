"""Checks that code of the project decided, as plain data."""

from __future__ import annotations

import inspect
from dataclasses import replace

from ..targets.plain_values import clean_text, shown
from .types import CheckResult

_ANSWERS = "True, False, a CheckResult or a list of them"


def own_check(check: object) -> CheckResult:
    """A check of the project's own: a falsy word for "no" must not pass for a yes."""
    if not isinstance(check, CheckResult):
        raise TypeError(f"a check has to be a CheckResult, not {type(check).__name__}: {shown(check)}")
    # Plain data, made here where it has a time limit: its parts may be objects of the project.
    name, expected, found = (clean_text(str(part)) for part in (check.name, check.expected, check.found))
    turn = None if check.turn is None else int(check.turn)
    return CheckResult(name, bool(check.holds), expected, found, turn)


def checks_of_answer(answer: object, name: str, expected: str, *, asserts: bool) -> tuple[CheckResult, ...]:
    """What a function of the project found, which a scenario names in `checks`.

    `expected` is what the function is for, in words. None is an answer only of one that `asserts` something
    itself: a forgotten `return` must not pass for a yes. Raises `TypeError` for anything else.
    """
    if isinstance(answer, bool):
        return (CheckResult(name, answer, expected, f"the function returned {answer}"),)
    if answer is None and asserts:
        return (CheckResult(name, True, expected, "no assertion failed"),)
    if isinstance(answer, CheckResult):
        return (_below(name, answer),)
    if isinstance(answer, (list, tuple)) or inspect.isgenerator(answer):
        found = tuple(_below(name, one) for one in answer)
        if found:
            return found
        raise TypeError("it found nothing to check: the list is empty")
    if answer is None:
        raise TypeError(f"it returned nothing and has no `assert` of its own: return {_ANSWERS}")
    raise TypeError(f"it returned {shown(answer)}; return {_ANSWERS}")


def _below(name: str, check: object) -> CheckResult:
    own = own_check(check)
    return replace(own, name=f"{name}: {own.name}")
