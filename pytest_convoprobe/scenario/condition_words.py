"""The words of conditions on a value, and what other systems call them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from ..suggest import is_slip_of, plain_name

CONDITIONS = (
    "equals", "not_equals", "one_of", "same_items", "contains", "not_contains", "includes", "matches",
    "not_matches", "at_least", "at_most", "above", "below",
)  # fmt: skip
"""Every key of a condition."""

RANGES = ("at_least", "at_most", "above", "below")
"""Those that say which numbers."""

_NAMES = {
    "at_least": "min minimum min_value gte ge >= => ≥ not_less_than",
    "at_most": "max maximum max_value lte le <= =< ≤ not_more_than",
    "above": "gt > greater greater_than more_than exclusive_minimum",
    "below": "lt < less less_than fewer_than exclusive_maximum",
    "equals": "eq = == equal equal_to is_equal equals_to exactly",
    "not_equals": "ne neq != <> ≠ not not_equal not_equal_to unequal not_eq",
    "contains": "contain contains_all substring icontains has_part",
    "not_contains": "not_contain not_icontains doesnt_contain excludes exclude",
    "matches": "regex regexp re match pattern regular_expression",
    "not_matches": "not_match not_regex",
    "includes": "include included partial subset has_keys",
    "same_items": "any_order unordered same_elements same_set items_equal equals_any_order",
    "one_of": "in enum any_of oneof is_one_of",
    "at_least` and `at_most": "between",
}
ELSEWHERE = {name: word for word, names in _NAMES.items() for name in names.split()}
"""What other systems and languages call a condition, with its name here."""


def condition_meant(key: str) -> str:
    """The condition that a key most likely means: `at_least` for `min`; empty if it resembles none."""
    plain = plain_name(key)
    if plain in CONDITIONS:
        return plain
    near = (word for word in CONDITIONS if is_slip_of(plain, [word]))
    return ELSEWHERE.get(plain) or next(near, "")


def foreign_path(path: str) -> str:
    """A path of JSONPath (`$.items[0].id`) as it is written here (`items.0.id`); empty for any other."""
    if not path.startswith(("$.", "$[")) and not re.search(r"\[\d+\]", path):
        return ""
    return ".".join(re.findall(r"[^.\[\]'\"$]+", path))


def unknown_conditions(keys: Collection[str]) -> Iterator[tuple[tuple[str], str]]:
    """What is wrong with the keys of a mapping that stands for a condition, each with its place.

    If none of the keys is a condition and none resembles one, the mapping is a part of the argument's own.
    """
    known = set(keys).intersection(CONDITIONS)
    for key in keys:
        meant = "" if key in CONDITIONS else condition_meant(key)
        if meant:
            yield (key,), f"unknown condition; did you mean `{meant}`? {_own_key(key, 'If')}"
        elif known and key not in CONDITIONS:
            valid = ", ".join(CONDITIONS)
            yield (key,), f"unknown condition. Valid here: {valid}. {_own_key(key, 'Or if')}"


def foreign_counts(keys: Iterable[str]) -> Iterator[tuple[tuple[str], str]]:
    """Keys that other systems have for numbers of calls, each with what to write."""
    for key in keys:
        word = plain_name(key)
        meant = _COUNTS.get(ELSEWHERE.get(word, word) if word not in CONDITIONS[1:] else "")
        if meant:
            yield (key,), f"unknown key; did you mean `{meant}`?"


_COUNTS = {"equals": "times", "count": "times", "at_least": "at_least", "at_most": "at_most"}


def _own_key(key: str, begin: str) -> str:
    return f"{begin} the value has a key of that name, write `includes: {{{key}: …}}`"


def empty_conditions(given: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Conditions that say nothing, that nothing fulfils, or that exclude each other."""
    if not given:
        yield (), f"this says nothing; give it one of {', '.join(CONDITIONS)}"
    for name in ("contains", "matches"):
        if given.get(name) == "":
            yield (name,), "every text has an empty part; say what the argument has to contain"
    for name in ("not_contains", "not_matches"):
        if given.get(name) == "":
            yield (name,), "every text has an empty part, so this never holds; say what must not be there"
    if isinstance(given.get("not_contains"), (list, tuple)):
        words = "this is one item of a list of lists; for several parts write `not_matches: a|b`"
        yield ("not_contains",), f"{words}, or an assertion for each"
    for name in ("includes", "one_of"):
        if name in given and not given[name]:
            yield (name,), "this is empty, so it says nothing; name something or leave the key out"
    yield from _ranges(given)


def _ranges(given: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], str]]:
    lower, upper = _numbers(given, ("at_least", "above")), _numbers(given, ("at_most", "below"))
    for bounds in (lower, upper):
        if len(bounds) > 1:
            yield (list(bounds)[1],), f"give either `{'` or `'.join(bounds)}`"
    for low, least in lower.items():
        for high, most in upper.items():
            open_ended = low == "above" or high == "below"
            if least > most or (least == most and open_ended):
                yield (low,), f"no number is `{low}: {least:g}` and `{high}: {most:g}`"


def _numbers(given: Mapping[str, object], names: Iterable[str]) -> dict[str, float]:
    return {name: value for name in names if isinstance(value := given.get(name), float)}
