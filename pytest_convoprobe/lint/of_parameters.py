"""Rules on `${name}`: where it stays in a text, it is likely to have been meant as a parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..yaml_source import Loc
from .finding import Fault
from .subject import Subject

_NAME = re.compile(r"\$\{[A-Za-z_]\w*\}")
_RAW = re.compile(r"\{%-?\s*raw\b")
# Texts for models are refused with such a name when they are loaded, and metadata may be a template.
_COMPARED = ("evaluation", "faults")


def not_filled_in(subject: Subject) -> Iterator[Fault]:
    """A condition on an argument or a reply with `${name}`, in a scenario that has no parameters."""
    if subject.document.has(("parameters",)):
        return  # there, what has no value is an error, unless it is marked as word for word
    for section in _COMPARED:
        for loc, name in _names(subject.document.value.get(section), (section,)):
            yield Fault(
                loc,
                f"`{name}` is compared as it is: this scenario has no `parameters`, so nothing is filled in",
                "Give the scenario `parameters` with this name, or write the value.",
            )


def _names(value: Any, loc: Loc) -> Iterator[tuple[Loc, str]]:
    # A text that has to be filled in is refused, so what it has here is marked as word for word.
    if isinstance(value, str) and not _RAW.search(value) and (found := _NAME.search(value)):
        yield loc, found[0]
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _names(inner, (*loc, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _names(inner, (*loc, index))
