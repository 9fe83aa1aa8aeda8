"""Whether the arguments of a tool call, or other data, are what a scenario requires. Pure functions.

`scenario.conditions` defines what each condition means.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        words for name, condition in conditions.items() for words in _in_words(name, condition)
    )


def unmet(conditions: Conditions, data: Any, within: str = "") -> tuple[str, ...]:
    """What is wrong with the data, a phrase for each name: `city is "Bergen"`. Empty if nothing is.

    Each phrase names the innermost key that is wrong. `within` is the name of the data itself.
    """
    wrong: list[str] = []
    for key, condition in conditions.items():
        name = f"{within}.{key}" if within else key
        value = _look_up(data, key)
        wrong += [f"{name} is missing"] if value is _MISSING else _problems(condition, value, name)
    return tuple(wrong)


def _problems(condition: ArgumentCondition, value: Any, name: str) -> Iterator[str]:
    wrong = {key: wanted for key, wanted in _plain(condition) if not _HOLDS[key](value, wanted, name)}
    if wrong:
        yield f"{name} is {_shown(value)}{_of_another_kind(value, wrong)}"
    if isinstance(condition.includes, Mapping):
        yield from _lacking_keys(condition.includes, value, name)
    elif condition.includes is not None:
        yield from _lacking_items(condition.includes, value, name)


def _of_another_kind(value: Any, wrong: Mapping[str, Any]) -> str:
    """That a condition says nothing of such a value: another mistake than a wrong number or text."""
    if not _is_number(value) and any(key in _RANGES for key in wrong):
        return ", which is not a number"
    parts = [wrong[key] for key in ("contains", "not_contains") if key in wrong]
    if isinstance(value, str) and any(not isinstance(part, str) for part in parts):
        return ", a text, which has texts as parts: put the part in quotes"
    return ""


def _lacking_keys(conditions: Conditions, value: Any, name: str) -> Iterator[str]:
    if isinstance(value, (Mapping, list, tuple)):
        yield from unmet(conditions, value, name)
    else:
        yield f"{name} is {_shown(value)}, which has no keys"


def _lacking_items(conditions: Sequence[ArgumentCondition], value: Any, name: str) -> Iterator[str]:
    if not isinstance(value, (list, tuple)):
        yield f"{name} is {_shown(value)}, which is not a list"
        return
    for condition in conditions:
        found = [list(_problems(condition, item, f"{name}.{index}")) for index, item in enumerate(value)]
        if len(found) == 1:
            yield from found[0]
        elif all(found):
            yield f"{name} has no item with {' and '.join(_in_words('item', condition))}"


def _in_words(name: str, condition: ArgumentCondition) -> Iterator[str]:
    for key, value in _plain(condition):
        yield f"{name} {_WORDS[key]}{f'/{value}/' if key in _PATTERNS else _json(value)}"
    if isinstance(condition.includes, Mapping):
        for key, inner in condition.includes.items():
            yield from _in_words(f"{name}.{key}", inner)
    for inner in condition.includes if isinstance(condition.includes, tuple) else ():
        yield f"{name} has an item with {' and '.join(_in_words('item', inner))}"


def _plain(condition: ArgumentCondition) -> Iterator[tuple[str, Any]]:
    """The conditions on the value as a whole, in the order of the format."""
    # `model_fields_set`, because `equals: null` is a condition too.
    given = condition.model_fields_set
    return ((key, getattr(condition, key)) for key in _HOLDS if key in given)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _matches(value: Any, pattern: str, name: str) -> bool:
    text = value if isinstance(value, str) else as_json(value)
    return is_found(pattern, text, f"`{name}`")


def _contains(value: Any, part: Any) -> bool:
    if isinstance(value, str):
        return isinstance(part, str) and part in value
    if isinstance(value, Mapping):
        return isinstance(part, str) and part in value
    return isinstance(value, (list, tuple)) and any(_same(part, item) for item in value)


def _lacks(value: Any, part: Any) -> bool:
    # Of a number in a text nobody knows whether its digits are meant: then it isn't fulfilled.
    comparable = isinstance(part, str) or not isinstance(value, str)
    return comparable and not _contains(value, part)


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


def _same_items(items: Sequence[Any], value: Any) -> bool:
    """Whether a list has the same items, each as often, whatever their order."""
    if not isinstance(value, (list, tuple)):
        return False
    left = list(value)
    for item in items:
        place = next((at for at, other in enumerate(left) if _same(item, other)), None)
        if place is None:
            return False
        del left[place]
    return not left


def _in_range(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any, str], bool]:
    return lambda value, bound, _: _is_number(value) and compare(value, bound)


_PATTERNS = ("matches", "not_matches")
_RANGES = {"at_least": operator.ge, "at_most": operator.le, "above": operator.gt, "below": operator.lt}
_HOLDS: Mapping[str, Callable[[Any, Any, str], bool]] = {
    "equals": lambda value, other, _: _same(other, value),
    "not_equals": lambda value, other, _: not _same(other, value),
    "one_of": lambda value, others, _: any(_same(other, value) for other in others),
    "same_items": lambda value, items, _: _same_items(items, value),
    "contains": lambda value, part, _: _contains(value, part),
    "not_contains": lambda value, part, _: _lacks(value, part),
    "matches": _matches,
    "not_matches": lambda value, pattern, name: not _matches(value, pattern, name),
    **{key: _in_range(compare) for key, compare in _RANGES.items()},
}
"""Whether a value, the argument of a condition, and the value's name fulfil it, by the condition's key."""
_WORDS = {
    "equals": "= ",
    "not_equals": "is not ",
    "one_of": "is one of ",
    "same_items": "has in any order the items ",
    "contains": "contains ",
    "not_contains": "doesn't contain ",
    "matches": "matches ",
    "not_matches": "doesn't match ",
    "at_least": "at least ",
    "at_most": "at most ",
    "above": "above ",
    "below": "below ",
}


def _shown(value: Any) -> str:
    return shorten(as_json(without_binary(value)), _VALUE)


def _json(value: Any) -> str:
    return as_json(int(value) if isinstance(value, float) and value.is_integer() else value)


def _look_up(data: Any, name: str) -> Any:
    """The value of this name, or the one at the path, if the name is a path with dots."""
    # First as it is: some tools have parameters whose names contain dots.
    if isinstance(data, Mapping) and name in data:
        return data[name]
    value: Any = data
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
