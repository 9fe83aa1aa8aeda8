"""What pydantic finds wrong with a document, with its place and in the words of those who wrote it.

The only translation of validation errors: scenarios, settings, benchmarks and recordings all use it, so that
the same mistake has the same sentence everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ..errors import Problem
from ..problems import by_place
from ..suggest import did_you_mean, suggest
from .document import Document, Loc
from .model_keys import is_required, known_keys, limits, owners
from .nodes import MAX_PROBLEMS

if TYPE_CHECKING:
    from typing_extensions import LiteralString

UNION_TAG = "|"
"""Names of union members begin with it, to distinguish them from keys in an error's path."""

REQUIRED_HERE = "required_here"
"""The type of the errors of `required_here`."""
_PLACED = "placed"
_PLACED_AT_KEYS = "placed_at_keys"
MISSING = "this key is required, and it is missing"
"""The sentence for a key that must be there."""


def complain(problems: Iterable[tuple[Loc, str]]) -> None:
    """Raise what a validator found: each problem with its path below the validated value.

    Does nothing if there are none. To be called in a pydantic validator.
    """
    _raise(_PLACED, list(problems))


def complain_of_keys(problems: Iterable[tuple[Loc, str]]) -> None:
    """As `complain`, for problems with the last key of each path, and not with its value."""
    _raise(_PLACED_AT_KEYS, list(problems))


def _raise(kind: LiteralString, found: list[tuple[Loc, str]]) -> None:
    if found:
        text = "; ".join(message for _, message in found)
        raise PydanticCustomError(kind, "{text}", {"text": text, "problems": found})


def required_here(key: str, reason: str) -> PydanticCustomError:
    """A key that is missing or empty, and needn't be there in other circumstances.

    To be raised in a pydantic validator of the mapping. `reason` follows the sentence.
    """
    return PydanticCustomError(REQUIRED_HERE, "`{key}` is required{reason}", {"key": key, "reason": reason})


def refusal(message: str) -> PydanticCustomError:
    """One problem with the validated value itself; to be raised in a pydantic validator."""
    return PydanticCustomError(_PLACED, "{text}", {"text": message, "problems": [((), message)]})


def explain(
    error: ValidationError,
    document: Document,
    model: type[BaseModel],
    forgive: Callable[[ErrorDetails], bool] = lambda _: False,
    *,
    path: Loc = (),
) -> list[Problem]:
    """Every problem of the value at `path` that `model` refused, but what is forgiven, in the file's order.

    Of more than `MAX_PROBLEMS` there is one more than that, so that it can be reported.
    """
    details = [
        detail for detail in error.errors(include_url=False) if not forgive(detail) and not _echo(detail)
    ][: MAX_PROBLEMS + 1]
    # Known before any sentence is written: pydantic reports missing keys before unknown ones.
    meant = {loc for detail in details for loc in _meant(detail, model)}
    explainer = _Explainer(document, model, path)
    problems: list[Problem] = []
    for detail in details:
        # A key that is missing because it is misspelt is reported once.
        if detail["type"] != "missing" or key_path(detail["loc"]) not in meant:
            problems += explainer.problems(detail)
    return sorted(problems, key=by_place)


def unknown_key(key: str, known: Iterable[str], others: Mapping[str, str] | None = None) -> str:
    """The sentence for a key that isn't among the known ones. `others` are as in `suggest`."""
    names = tuple(known)
    near = did_you_mean(key, names, others)
    valid = f" Valid here: {', '.join(names)}" if names else ""
    return f"unknown key{near or '.'}{valid}"


def must_be(expected: str, value: Any, written: str = "") -> str:
    """The sentence for a value that is something else. `written` is how it is written in the file."""
    return f"must be {expected}, got {describe(value, written)}"


def must_be_mapping(got: str, keys: Collection[str] = ()) -> str:
    """The sentence for a value that isn't a mapping; `got` are the words for what it is."""
    return f"must be a mapping{' with the keys ' if keys else ''}{', '.join(keys)}, but it is {got}"


def describe(value: Any, written: str = "") -> str:
    """A value in words: `a list`, `the number 5`; `written` is how it is written in the file."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean `{written or str(value).lower()}`"
    if isinstance(value, (int, float)):
        return f"the number {written or value}"
    if isinstance(value, str):
        return f'the text "{_short(value)}"'
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__} ({value})"


def key_path(loc: Loc) -> Loc:
    """An error's path without the names of union members."""
    return tuple(part for part in loc if isinstance(part, int) or not part.startswith((UNION_TAG, "[key]")))


def _echo(detail: ErrorDetails) -> bool:
    """A list is called too short when its items are wrong: these are reported already."""
    return detail["type"] == "too_short" and bool(detail["input"])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _meant(detail: ErrorDetails, model: type[BaseModel]) -> list[Loc]:
    """The key that a misspelt key most likely means."""
    if detail["type"] != "extra_forbidden":
        return []
    loc = key_path(detail["loc"])
    near = suggest(str(loc[-1]), known_keys(model, loc[:-1]))
    return [(*loc[:-1], near)] if near else []


class _Explainer:
    """Words and places for the errors of one value. `path` is where it is in the document."""

    def __init__(self, document: Document, model: type[BaseModel], path: Loc) -> None:
        self._document = document
        self._model = model
        self._path = path

    def problems(self, detail: ErrorDetails) -> list[Problem]:
        below, kind = key_path(detail["loc"]), detail["type"]
        loc = (*self._path, *below)
        if kind in (_PLACED, _PLACED_AT_KEYS):
            places, at_key = detail["ctx"]["problems"], kind == _PLACED_AT_KEYS
            return [self._document.problem((*loc, *inner), text, at_key=at_key) for inner, text in places]
        if kind == "extra_forbidden":
            return [self._document.problem(loc, self._unknown_key(below, detail["input"]), at_key=True)]
        if kind == "missing":
            return [self._document.problem(loc, MISSING, at_key=True)]
        if kind == REQUIRED_HERE:
            loc = (*loc, detail["ctx"]["key"])
            there = self._document.has(loc)
            words = (_EMPTY["too_short"] if there else MISSING) + detail["ctx"]["reason"]
            return [self._document.problem(loc, words, at_key=not there)]
        return [self._document.problem(loc, self._wrong_value(detail, below, loc))]

    def _unknown_key(self, below: Loc, value: Any) -> str:
        key, known = str(below[-1]), known_keys(self._model, below[:-1])
        if len(below) == 1 and key in getattr(self._model, "keys_of_settings", ()):
            return f"this key belongs in the settings (convoprobe.yaml). Valid here: {', '.join(known)}"
        if suggest(key, known):
            return unknown_key(key, known)
        # No key of ours has a blank. It is a sentence that an unquoted colon made into a mapping.
        if " " in key.strip():
            return f"unknown key; {_quote_sentence({key: value})}"
        homes = owners(self._model, key)
        if homes:
            valid = f"Valid here: {', '.join(known)}" if known else ""
            return f"this key belongs {' or '.join(homes)}. {valid}"
        return unknown_key(key, known)

    def _wrong_value(self, detail: ErrorDetails, below: Loc, loc: Loc) -> str:
        kind, value, model = detail["type"], detail["input"], self._model
        written = self._document.written(loc) if self._document.has(loc) else ""
        secret = self._document.is_secret(loc)
        got = "something else" if secret else describe(value, written)
        if kind == "string_type":
            text = "text or a mapping" if detail["loc"][-1] == f"{UNION_TAG}text" else "text"
            return f"must be {text}, got {got}{'' if secret else _how_to_text(value, written)}"
        if kind in _EXPECTED:
            return f"must be {_EXPECTED[kind]}, got {got}{_how_to_list(kind, value, below, model)}"
        if kind in _MAPPINGS:
            return must_be_mapping(got, known_keys(model, below))
        if kind in _CHOICES:
            return f"must be one of {_choices(detail)}, got {got}{_nearest_choice(detail)}"
        if kind in _RANGES:
            return f"must be {limits(model, below) or _bound(detail)}, got {got}"
        if kind in _EMPTY:
            return _EMPTY[kind]
        if kind == "value_error":
            words = str(detail["ctx"]["error"])
            return words if ", got " in words else f"{words}, got {got}"
        return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}; got {got}"


def _quote_sentence(mapping: Mapping[str, Any]) -> str:
    """The advice for a sentence that an unquoted colon turned into a mapping."""
    key, value = next(iter(mapping.items()))
    rest = "…" if isinstance(value, (Mapping, list)) or value is None else value
    return f"""if this is one text with a colon in it, put it in quotes: '{_short(f"{key}: {rest}")}'"""


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
}
_MAPPINGS = frozenset(("model_type", "model_attributes_type", "dataclass_type", "dict_type", "mapping_type"))
_CHOICES = frozenset(("literal_error", "enum"))
_RANGES = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}
_EMPTY = {
    "string_too_short": "must not be empty",
    "too_short": "must not be empty: at least one item is needed",
}


def _bound(detail: ErrorDetails) -> str:
    """The one limit that pydantic names, for a number whose model is not known."""
    name, words = _RANGES[detail["type"]]
    return f"{words} {detail['ctx'][name]:g}"


def _how_to_text(value: Any, written: str) -> str:
    if isinstance(value, Mapping) and len(value) == 1:
        return f"; {_quote_sentence(value)}"
    if isinstance(value, (bool, int, float)):
        return f'; put it in quotes if you mean the text: "{written or value}"'
    return "; give it a text, or leave the line out" if value is None else ""


def _how_to_list(kind: str, value: Any, loc: Loc, model: type[BaseModel]) -> str:
    if kind not in ("tuple_type", "list_type"):
        return ""
    if value is None:
        return "; give it items" + ("" if is_required(model, loc) else ", or leave the key out")
    return "; begin each item with `- ` on a line of its own" if isinstance(value, (str, Mapping)) else ""


def _choices(detail: ErrorDetails) -> str:
    return str(detail["ctx"]["expected"]).replace("'", "`").replace(" or ", ", ")


def _nearest_choice(detail: ErrorDetails) -> str:
    return did_you_mean(str(detail["input"]), [word.strip("` ") for word in _choices(detail).split(",")])
