"""Ids that are names of folders and files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from ...errors import Problem, SettingsError
from ...yaml_source import Document
from ...yaml_source.explain import must_be
from .folder import target_id

_FIT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?")
_RULE = "letters, digits, `.`, `-` and `_`, at most 100, the first a letter or a digit and the last no dot"
_LONGEST = 80
ALL = "all"
"""Used in place of a target for all targets, or where there is none: no target may have this id."""


def unfit(name: str, what: str, instead: str) -> str | None:
    """What is wrong with a name that files or folders are to have on any system; None if nothing is."""
    if _FIT.fullmatch(name):
        return None
    return f"{what} is part of file names: {_RULE}; `{instead}` would do"


def name_targets(targets: Iterable[tuple[Any, str]], document: Document) -> tuple[str, ...]:
    """The ids of targets, each of which comes with the id that it was given, if any, and with what it is.

    Ids that differ in case only count as the same: their folders would be, on some systems. Raises
    `SettingsError` for given ids that won't do; one that wasn't given is made unique by a number.
    """
    targets = tuple(targets)
    problems: list[Problem] = []
    taken: dict[str, int] = {}
    for index, (given, _) in enumerate(targets):
        if given is None:
            continue
        if complaint := _complaint(given, taken):
            problems.append(document.problem(("targets", index, "id"), complaint))
        else:
            taken[given.lower()] = index
    if problems:
        raise SettingsError(tuple(problems))
    names = {*taken, ALL}
    return tuple(
        # The address may be made from variables, and this is the name of a folder.
        numbered(_short(document.mask(shown)), names) if given is None else given
        for given, shown in targets
    )


def _complaint(given: Any, taken: dict[str, int]) -> str | None:
    if not isinstance(given, str):
        return f"{must_be('text', given)}; put it in quotes"
    if given.lower() == ALL:
        return f"the id `{given}` means all targets together, in cost.json; `{given}-targets` would do"
    if given.lower() in taken:
        return f"the id `{given}` is that of targets[{taken[given.lower()]}], too; each needs its own"
    return unfit(given, "a target's id", _short(given))


def numbered(name: str, taken: set[str]) -> str:
    """The name, numbered if it is taken already (in any case of letters). It is taken afterwards."""
    found, number = name, 1
    while found.lower() in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found.lower())
    return found


def _short(shown: str) -> str:
    """As a folder's name, and of an address only what contains no secret: host and path."""
    if "://" in shown:
        parts = urlsplit(shown)
        shown = f"{parts.netloc.rpartition('@')[2]}{parts.path}"
    return target_id(target_id(shown)[:_LONGEST])
