"""A scenario's document, filled in with each of its sets of parameters.

`${name}` is filled in once: what a value contains is never looked at again. A text that is nothing but
`${name}` becomes the value itself, whatever it is; in a longer text, the value is put in as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Problem, ScenarioFileError
from ..suggest import did_you_mean
from ..yaml_source import Document, Loc, dotted
from ..yaml_source.explain import describe
from ..yaml_source.placeholders import MarkedText, parts_of
from ..yaml_source.values import MAX_EXPANDED
from .parameters import OWN_ID, PARAMETERS, Parameter, ParameterSet, parameter_sets

_PLACE = re.compile(r"\$\{([^{}\n]*)\}")


@dataclass
class FilledDocument(Document):
    """A document with one set of parameters. A mistake in a value is in the place of the value."""

    def problem(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem:
        found = super().problem(loc, message, at_key=at_key)
        filled = self.as_written(loc)[:1] == (PARAMETERS,)
        return replace(found, message=f"{message} (filled in at {dotted(loc)})") if filled else found


class _TooLarge(Exception):
    """The filled documents are larger than anybody means."""


@dataclass
class CharactersLeft:
    """How many characters the documents of a file may still have."""

    left: int = MAX_EXPANDED

    def take(self, size: int) -> None:
        """Raises an error that `filled` reports."""
        self.left -= size
        if self.left < 0:
            raise _TooLarge


def filled(document: Document, room: CharactersLeft, *, unfinished: bool) -> tuple[tuple[str, Document], ...]:
    """The document once for each set of its parameters, with the set's id; itself without id if it has none.

    An `unfinished` one may still have no use for a parameter. Raises `ScenarioFileError`.
    """
    if PARAMETERS not in document.value or (unfinished and not document.value[PARAMETERS]):
        document.value.pop(PARAMETERS, None)
        return (("", document),)
    sets = parameter_sets(document)
    template = {key: value for key, value in document.value.items() if key != PARAMETERS}
    problems = list(_wrong_uses(document, template, sets[0].values, unfinished=unfinished))
    if problems:
        raise ScenarioFileError(tuple(problems))
    try:
        fillings = [_Filling(document, one, room) for one in sets]
        made = tuple((one.set.id, one.made(template)) for one in fillings)
    except _TooLarge:
        message = (
            f"with these, the scenarios of the file make more than {MAX_EXPANDED:,} characters; use fewer"
        )
        raise ScenarioFileError((document.problem((PARAMETERS,), message),)) from None
    wrong = dict.fromkeys(problem for one in fillings for problem in one.problems)
    if wrong:
        raise ScenarioFileError(tuple(wrong))
    return made


def _wrong_uses(
    document: Document, template: Mapping[str, Any], known: Mapping[str, Parameter], *, unfinished: bool
) -> Iterator[Problem]:
    """Names that have no value, and values that nothing uses."""
    used: set[str] = set()
    for loc, written, is_key in _places(template, ()):
        name = written[2:-1]
        used.add(name)
        if is_key:
            yield document.problem(loc, f"`{written}` in a key: only values are filled in", at_key=True)
        elif name not in known:
            yield document.problem(loc, _unknown(written, name, known))
    for name, one in known.items():
        if name not in used and name != OWN_ID and not unfinished:
            words = f"nothing uses this parameter: write `${{{name}}}` where it belongs, or leave it out"
            yield document.problem(_name_of(one), words, at_key=True)


def _unknown(written: str, name: str, known: Mapping[str, Parameter]) -> str:
    plain, default, _ = name.partition(":-")
    if default and plain in known:
        reason = f"a parameter has a value in every entry, so no default is needed: write `${{{plain}}}`"
    elif name.strip() in known:
        reason = f"write `${{{name.strip()}}}`, without spaces"
    else:
        near = did_you_mean(name, known)
        reason = f"`{PARAMETERS}` has no such name{near or ', only ' + ', '.join(known)}"
    return (
        f"`{written}` has no value: {reason}. If these characters are meant, write "
        f"`{{% raw %}}{written}{{% endraw %}}`"
    )


def _places(value: Any, loc: Loc) -> Iterator[tuple[Loc, str, bool]]:
    """Every `${…}` outside of what is marked as word for word, and whether it is in a key."""
    if isinstance(value, str):
        if "${" in value:
            plain = (part for part, words in parts_of(value) if words is None)
            yield from ((loc, found[0], False) for part in plain for found in _PLACE.finditer(part))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (((*loc, key), found[0], True) for found in _PLACE.finditer(key))
            yield from _places(inner, (*loc, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*loc, index))


def _name_of(parameter: Parameter) -> Loc:
    """Where its name is: in the list of a combination it stands once for all values."""
    loc = parameter.loc
    return loc if isinstance(loc[1], int) else loc[:2]


class _Filling:
    """Fills a document in with one set; `made` is the result, `problems` are what could not be filled in."""

    def __init__(self, document: Document, one: ParameterSet, room: CharactersLeft) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self.set = one
        self._room = room
        self._moved: list[tuple[Loc, Loc]] = []

    def made(self, template: Mapping[str, Any]) -> FilledDocument:
        whole = self._document
        made = FilledDocument(
            self._value(template, ()),
            whole.places,
            whole.mask,
            whole.is_secret,
            whole.content,
            whole.included,
        )
        for old, new in self._moved:
            made.rename(old, new)
        return made

    def _value(self, value: Any, loc: Loc) -> Any:
        if isinstance(value, str):
            self._room.take(len(value) + 1)
            return self._text(value, loc) if "{" in value else value
        if isinstance(value, dict):
            self._room.take(sum(map(len, value)))
            return {key: self._value(inner, (*loc, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._value(inner, (*loc, index)) for index, inner in enumerate(value)]
        return value

    def _text(self, text: str, loc: Loc) -> Any:
        whole = _PLACE.fullmatch(text)
        if whole is not None:
            parameter = self.set.values[whole[1]]
            self._room.take(_size(parameter.value))
            self._moved.append((parameter.loc, loc))
            return parameter.value
        parts = [
            (self._put_in(part, loc) if words is None else part, words) for part, words in parts_of(text)
        ]
        marked = "".join(part for part, _ in parts)
        plain = "".join(part if words is None else words for part, words in parts)
        return plain if plain == marked else MarkedText(plain, marked)

    def _put_in(self, part: str, loc: Loc) -> str:
        return _PLACE.sub(lambda match: self._written(match[1], loc), part)

    def _written(self, name: str, loc: Loc) -> str:
        parameter = self.set.values[name]
        if parameter.value is None or isinstance(parameter.value, (list, dict)):
            problem = (
                f"{describe(parameter.value)} can't be put into a text, and at {dotted(loc)} other words are "
                f"around `${{{name}}}`; give it a text or a number"
            )
            if not any(problem == known.message for known in self.problems):
                self.problems.append(self._document.problem(parameter.loc, problem))
            return ""
        self._room.take(len(parameter.written))
        return parameter.written


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + 1
    if isinstance(value, dict):
        return sum(len(key) + _size(inner) for key, inner in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else 1
