"""Whether the arguments of a tool call are what a scenario requires. Pure functions.

`scenario.assertions` defines what `equals`, `contains` and `matches` mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..excerpts import as_json, without_binary
from ..scenario.models import ArgumentCondition
from ..text import shorten
from .patterns import is_found

_MISSING = object()
_VALUE = 80

Conditions = Mapping[str, ArgumentCondition]


def wanted(conditions: Conditions) -> str:
    """The conditions in words: `city = "Oslo" and units contains "met"`."""
    return " and ".join(
        f"{name} {part}" for name, condition in conditions.items() for part in _parts(condition)
    )


def unmet(conditions: Conditions, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with the arguments, a phrase for each name: `city is "Bergen"`. Empty if none is."""
    wrong = []
    for name, condition in conditions.items():
        value = _look_up(arguments, name)
        if value is _MISSING:
            wrong.append(f"{name} is missing")
        elif not _holds(condition, value, name):
            wrong.append(f"{name} is {shorten(as_json(without_binary(value)), _VALUE)}")
    return tuple(wrong)


def _parts(condition: ArgumentCondition) -> Iterator[str]:
    # `model_fields_set`, because `equals: null` is a condition too.
    given = condition.model_fields_set
    if "equals" in given:
        yield f"= {as_json(condition.equals)}"
    if "contains" in given:
        yield f"contains {as_json(condition.contains)}"
    if "matches" in given:
        yield f"matches /{condition.matches}/"


def _holds(condition: ArgumentCondition, value: Any, name: str) -> bool:
    given = condition.model_fields_set
    if "equals" in given and not _same(condition.equals, value):
        return False
    if "contains" in given and not _contains(value, condition.contains):
        return False
    if condition.matches is None:
        return True
    text = value if isinstance(value, str) else as_json(value)
    return is_found(condition.matches, text, f"the argument {name}")


def _contains(value: Any, part: Any) -> bool:
    if isinstance(value, str):
        return isinstance(part, str) and part in value
    if isinstance(value, Mapping):
        return isinstance(part, str) and part in value
    return isinstance(value, (list, tuple)) and any(_same(part, item) for item in value)


def _same(wanted_value: Any, value: Any) -> bool:
    """Equal as JSON: `5` is `5.0`, but `true` is not `1`."""
    # In Python, True == 1.
    if isinstance(wanted_value, bool) or isinstance(value, bool):
        return wanted_value is value
    if isinstance(wanted_value, Mapping) and isinstance(value, Mapping):
        return wanted_value.keys() == value.keys() and all(
            _same(item, value[key]) for key, item in wanted_value.items()
        )
    if isinstance(wanted_value, (list, tuple)) and isinstance(value, (list, tuple)):
        return len(wanted_value) == len(value) and all(map(_same, wanted_value, value))
    return bool(wanted_value == value)


def _look_up(arguments: Mapping[str, Any], name: str) -> Any:
    """The argument of this name, or the value at the path, if the name is a path with dots."""
    # First as it is: some tools have parameters whose names contain dots.
    if name in arguments:
        return arguments[name]
    value: Any = arguments
    for step in name.split("."):
        value = _step(value, step)
        if value is _MISSING:
            return _MISSING
    return value


def _step(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, _MISSING)
    if isinstance(value, (list, tuple)) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return _MISSING
