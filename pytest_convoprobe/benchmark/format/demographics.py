"""Reads `demographics`: the values of each attribute, every combination of which is a variant."""

from __future__ import annotations

from typing import Any

from ...errors import Problem
from ...yaml_source import Document, Loc
from ...yaml_source.explain import describe, must_be

Demographics = dict[str, tuple[str, ...]]

_HOW = 'write `age: ["6-17", "18 and older"]`'


def read_demographics(document: Document) -> tuple[Demographics, list[Problem]]:
    """The attributes in the order of the file, with their values as texts, and what is wrong with them."""
    given = document.value.get("demographics")
    path: Loc = ("demographics",)
    if given is None:
        return {}, []
    if not isinstance(given, dict):
        message = f"{must_be('a mapping of attributes to lists of values', given)}; {_HOW}"
        return {}, [document.problem(path, message)]
    problems: list[Problem] = []
    return {
        name: _values(values, (*path, name), document, problems) for name, values in given.items()
    }, problems


def _values(given: Any, path: Loc, document: Document, problems: list[Problem]) -> tuple[str, ...]:
    if not isinstance(given, list) or not given:
        found = "an empty one" if given == [] else describe(given)
        message = f"must be a list of values, got {found}; {_HOW}, or leave the attribute out"
        problems.append(document.problem(path, message))
        return ()
    values: list[str] = []
    for index, item in enumerate(given):
        value = _text(item, (*path, index), document)
        if value is None or value in values:
            found = f"`{value}` twice" if value else describe(item)
            problems.append(
                document.problem((*path, index), f"must be a text that is given once, got {found}")
            )
        else:
            values.append(value)
    return tuple(values)


def _text(item: Any, path: Loc, document: Document) -> str | None:
    """A value as text: of a number or a bare `yes` what the file says. None if it cannot be one."""
    if isinstance(item, str):
        return item.strip() or None
    if isinstance(item, (bool, int, float)):
        return document.written(path) or str(item)
    return None
