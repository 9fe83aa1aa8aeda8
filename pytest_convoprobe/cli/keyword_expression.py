"""Expressions of the kind that pytest's `-k` takes: names with `and`, `or`, `not` and brackets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .exits import UsageProblem

if TYPE_CHECKING:
    from ..results.store import IndexRow

Matcher = Callable[[str], bool]

_TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<name>[^\s()]+))")
_WORDS = frozenset(("and", "or", "not"))


def selects(expression: str | None) -> Callable[[IndexRow], bool]:
    """Whether a stored trial is meant: each name is looked for in its id, its name and its tags, in any case.

    None and an empty text take all. Raises `UsageProblem` for an expression that makes no sense.
    """
    if not expression or not expression.strip():
        return lambda row: True
    matcher = _Parser(expression).parse()
    return lambda row: matcher("\n".join((row.scenario_id, row.name, *row.tags)).casefold())


class _Parser:
    """`or` binds least, then `and`, then `not`; names that follow each other are one with spaces in it."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = [match["mark"] or match["name"] for match in _TOKEN.finditer(expression)]
        self._at = 0

    def parse(self) -> Matcher:
        matcher = self._any()
        if self._next is not None:
            raise self._wrong(f"{self._next!r} is one too many")
        return matcher

    @property
    def _next(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _accept(self, token: str) -> bool:
        if self._next != token:
            return False
        self._at += 1
        return True

    def _any(self) -> Matcher:
        parts = [self._all()]
        while self._accept("or"):
            parts.append(self._all())
        return lambda text: any(part(text) for part in parts)

    def _all(self) -> Matcher:
        parts = [self._one()]
        while self._accept("and"):
            parts.append(self._one())
        return lambda text: all(part(text) for part in parts)

    def _one(self) -> Matcher:
        if self._accept("not"):
            inner = self._one()
            return lambda text: not inner(text)
        if self._accept("("):
            inner = self._any()
            if not self._accept(")"):
                raise self._wrong("a bracket is not closed")
            return inner
        return self._name()

    def _name(self) -> Matcher:
        words: list[str] = []
        while self._next is not None and self._next not in (*_WORDS, "(", ")"):
            words.append(self._next)
            self._at += 1
        if not words:
            where = f"before {self._next!r}" if self._next else "at the end"
            raise self._wrong(f"a name is missing {where}")
        wanted = " ".join(words).casefold()
        return lambda text: wanted in text

    def _wrong(self, why: str) -> UsageProblem:
        return UsageProblem(f"-k {self._expression!r}: {why}; write names with and, or, not and parentheses")
