"""`parameters` of a scenario: the sets of values that it is run with, and the ids of these sets.

They are a list of mappings, each of which is a set, or a mapping of lists, of which every combination is one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Problem, ScenarioFileError
from ..suggest import plain_name
from ..text import has_words, one_line
from ..yaml_source import Document, Loc, dotted
from ..yaml_source.explain import describe

PARAMETERS = "parameters"
OWN_ID = "id"
MAX_SETS = 1_000
"""The most sets of parameters of one scenario."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 40
_LONGEST_ID = 100
# What our own suffixes are made of: `Refund[2]`, `Refund[trial-2]`.
_OWN_SUFFIX = re.compile(r"(trial-)?\d+")
_FORMS = (
    "a list of mappings (`- {order_id: A-1001, tier: gold}`), or a mapping of lists "
    "(`order_id: [A-1001, A-1002]`) whose values are all combined"
)


@dataclass(frozen=True)
class Parameter:
    """One value, as it is written, and where."""

    value: Any
    written: str
    loc: Loc


@dataclass(frozen=True)
class ParameterSet:
    """What one run of a scenario is filled in with. `loc` is its place in the document."""

    id: str
    values: Mapping[str, Parameter]
    loc: Loc


def parameter_sets(document: Document) -> tuple[ParameterSet, ...]:
    """The sets of a document that has `parameters`. Raises `ScenarioFileError`."""
    reader = _Reader(document)
    sets = reader.sets()
    problems = reader.problems or list(_same_ids(document, sets))
    if problems:
        raise ScenarioFileError(tuple(problems))
    return sets


class _Reader:
    """Reads what is there, and notes what is wrong with it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.problems: list[Problem] = []

    def sets(self) -> tuple[ParameterSet, ...]:
        given = self._document.value[PARAMETERS]
        if isinstance(given, list) and given:
            return self._listed(given)
        if isinstance(given, dict) and given:
            return self._combined(given)
        if isinstance(given, (list, dict)):
            self._complain(
                (PARAMETERS,), "there are none, so the scenario would never run; leave the key out"
            )
        else:
            self._complain((PARAMETERS,), f"must be {_FORMS}; got {describe(given)}")
        return ()

    def _complain(self, loc: Loc, message: str, *, at_key: bool = False) -> None:
        self.problems.append(self._document.problem(loc, message, at_key=at_key))

    def _listed(self, given: Sequence[Any]) -> tuple[ParameterSet, ...]:
        if self._too_many(len(given)):
            return ()
        made = []
        names = [name for name in given[0] if name != OWN_ID] if isinstance(given[0], dict) else []
        for index, entry in enumerate(given):
            loc: Loc = (PARAMETERS, index)
            if self._is_set(entry, loc) and (index == 0 or self._has_the_same(entry, names, loc)):
                made.append(self._set(entry, loc))
        return tuple(made)

    def _combined(self, given: Mapping[str, Any]) -> tuple[ParameterSet, ...]:
        for name, values in given.items():
            self._check_list(name, values)
        if self.problems or self._too_many(math.prod(map(len, given.values()))):
            return ()
        known = [
            [self._parameter(value, (PARAMETERS, name, index)) for index, value in enumerate(values)]
            for name, values in given.items()
        ]
        combined = (dict(zip(given, values, strict=True)) for values in itertools.product(*known))
        return tuple(ParameterSet(_id_of(values), values, (PARAMETERS,)) for values in combined)

    def _too_many(self, count: int) -> bool:
        if count > MAX_SETS:
            self._complain(
                (PARAMETERS,), f"these make {count:,} scenarios, and at most {MAX_SETS:,} are made"
            )
        return count > MAX_SETS

    def _check_list(self, name: str, values: Any) -> None:
        loc = (PARAMETERS, name)
        if name == OWN_ID:
            self._complain(
                loc,
                "an `id` belongs to one entry of a list; combinations are named by their values",
                at_key=True,
            )
        self._check_name(name, loc)
        if not isinstance(values, list):
            self._complain(loc, f"must be a list of values, got {describe(values)}")
        elif not values:
            self._complain(loc, "must not be empty: at least one value is needed")

    def _is_set(self, entry: Any, loc: Loc) -> bool:
        if not isinstance(entry, dict):
            example = "a mapping of names and values, such as `{order_id: A-1001}`"
            self._complain(loc, f"must be {example}; got {describe(entry)}")
            return False
        names = [name for name in entry if name != OWN_ID]
        if not names:
            self._complain(loc, "this entry has no values")
        for name in names:
            self._check_name(name, (*loc, name))
        if OWN_ID in entry:
            self._check_id(entry[OWN_ID], (*loc, OWN_ID))
        return bool(names)

    def _check_name(self, name: str, loc: Loc) -> None:
        if not _NAME.fullmatch(name):
            better = re.sub(r"\W+", "_", plain_name(name)).strip("_")
            hint = f": `{better}`" if _NAME.fullmatch(better) else ""
            self._complain(
                loc,
                f"the name of a parameter has letters, digits and `_` only, and begins with a letter{hint}",
                at_key=True,
            )

    def _check_id(self, own: Any, loc: Loc) -> None:
        number = isinstance(own, (int, float)) and not isinstance(own, bool)
        if not number and not (isinstance(own, str) and has_words(own)):
            self._complain(loc, f"must be a text that names this entry, got {describe(own)}")

    def _has_the_same(self, entry: Mapping[str, Any], names: Sequence[str], loc: Loc) -> bool:
        """Whether an entry has the names of the first one: each text needs a value in each run."""
        before = len(self.problems)
        for name in names:
            if name not in entry:
                self._complain(loc, f"this entry has no `{name}`, which the first one has")
        for name in entry:
            if name not in names and name != OWN_ID:
                words = f"the first entry has no `{name}`; give every entry the same names"
                self._complain((*loc, name), words, at_key=True)
        return len(self.problems) == before

    def _set(self, entry: Mapping[str, Any], loc: Loc) -> ParameterSet:
        values = {name: self._parameter(value, (*loc, name)) for name, value in entry.items()}
        own = values.get(OWN_ID)
        named = one_line(own.written or str(own.value)) if own else ""
        return ParameterSet(_cut(named, _LONGEST_ID) if named else _id_of(values), values, loc)

    def _parameter(self, value: Any, loc: Loc) -> Parameter:
        written = value if isinstance(value, str) else self._document.written(loc)
        return Parameter(value, written, loc)


def _id_of(values: Mapping[str, Parameter]) -> str:
    """The values, as pytest puts them into its ids. It depends on nothing but them, so it is stable."""
    parts = [_cut(_in_id(name, one), _LONGEST) for name, one in values.items()]
    return _cut("-".join(parts), _LONGEST_ID)


def _in_id(name: str, one: Parameter) -> str:
    value = one.value
    if isinstance(value, str) and has_words(value) and not _OWN_SUFFIX.fullmatch(value):
        return one_line(value)
    shown = one.written if not isinstance(value, (dict, list)) else json.dumps(value, ensure_ascii=False)
    return f"{name}={one_line(shown)}"


def _cut(text: str, longest: int) -> str:
    """A long text with the beginning of its digest, so that two that begin alike stay two."""
    if len(text) <= longest:
        return text
    return f"{text[: longest - 8]}…{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _same_ids(document: Document, sets: Sequence[ParameterSet]) -> Iterator[Problem]:
    """Two sets of one id: the node id of one would depend on the other."""
    first: dict[str, ParameterSet] = {}
    for one in sets:
        other = first.setdefault(_in_node_id(one.id), one)
        if other is one:
            continue
        same = _plain(one) == _plain(other)
        listed = len(one.loc) > 1
        advice = (
            f"give one of them an `{OWN_ID}` of its own"
            if listed
            else "write a list of entries, each with an `id`"
        )
        what = (
            f"`{dotted(other.loc)}` has the same values"
            if same and listed
            else f"two sets have the id `{one.id}`"
        )
        yield document.problem(one.loc, f"{what}; {'leave one of them out' if same else advice}")


def _in_node_id(text: str) -> str:
    """What tells an id from others in node ids and in the names of files."""
    line = re.sub(":{2,}", ":", unicodedata.normalize("NFC", text))
    return "".join(one if one.isprintable() else "_" for one in line).casefold()


def _plain(one: ParameterSet) -> dict[str, Any]:
    return {
        name: (type(parameter.value), parameter.value)
        for name, parameter in one.values.items()
        if name != OWN_ID
    }
