"""What pydantic finds wrong with a document, with its place and in the words of those who wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ..errors import Problem
from .document import Document, Loc
from .parsing import MAX_PROBLEMS
from .suggest import is_required, known_keys, limits, nearest, owners

UNION_TAG = "|"
"""Names of union members begin with it, so that they can be told from keys in an error's path."""

_PLACED = "placed"


def complain(problems: Iterable[tuple[Loc, str]]) -> None:
    """Raise what a validator found: each problem with its path below the validated value.

    Does nothing if there are none. To be called in a pydantic validator.
    """
    found = list(problems)
    if found:
        text = "; ".join(message for _, message in found)
        raise PydanticCustomError(_PLACED, "{text}", {"text": text, "problems": found})


def refusal(message: str) -> PydanticCustomError:
    """One problem with the validated value itself; to be raised in a pydantic validator."""
    return PydanticCustomError(_PLACED, "{text}", {"text": message, "problems": [((), message)]})


def explain(
    error: ValidationError,
    document: Document,
    model: type[BaseModel],
    forgive: Callable[[ErrorDetails], bool] = lambda _: False,
) -> list[Problem]:
    """Every problem of a document that `model` refused, but what is forgiven, in the file's order.

    Of more than `MAX_PROBLEMS` there is one more than that, so that it can be told.
    """
    details = [
        detail for detail in error.errors(include_url=False) if not forgive(detail) and not _echo(detail)
    ][: MAX_PROBLEMS + 1]
    meant = {loc for detail in details for loc in _meant(detail, model)}
    problems: list[Problem] = []
    for detail in details:
        # A key that is missing because it is misspelt is told once.
        if detail["type"] != "missing" or key_path(detail["loc"]) not in meant:
            problems += _problems(detail, document, model)
    return sorted(problems, key=lambda problem: (problem.line, problem.column))


def _echo(detail: ErrorDetails) -> bool:
    """A list is called too short when its items are wrong: these are told already."""
    return detail["type"] == "too_short" and bool(detail["input"])


def key_path(loc: Loc) -> Loc:
    """An error's path without the names of union members."""
    return tuple(part for part in loc if isinstance(part, int) or not part.startswith((UNION_TAG, "[key]")))


def describe(value: Any, written: str = "") -> str:
    """A value in words: `a list`, `the number 5`; `written` is how it stands in the file."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean `{written or str(value).lower()}`"
    if isinstance(value, (int, float)):
        return f"the number {written or value}"
    if isinstance(value, str):
        return f'the text "{_short(value)}"'
    return "a mapping" if isinstance(value, Mapping) else "a list"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _meant(detail: ErrorDetails, model: type[BaseModel]) -> list[Loc]:
    """The key that a misspelt key most likely stands for."""
    if detail["type"] != "extra_forbidden":
        return []
    loc = key_path(detail["loc"])
    near = nearest(str(loc[-1]), known_keys(model, loc[:-1]))
    return [(*loc[:-1], near)] if near else []


def _problems(detail: ErrorDetails, document: Document, model: type[BaseModel]) -> list[Problem]:
    loc, kind = key_path(detail["loc"]), detail["type"]
    if kind == _PLACED:
        return [document.problem((*loc, *below), text) for below, text in detail["ctx"]["problems"]]
    if kind == "extra_forbidden":
        return [document.problem(loc, _unknown_key(loc, detail["input"], model), at_key=True)]
    if kind == "missing":
        return [document.problem(loc, "this key is required, and it is missing", at_key=True)]
    return [document.problem(loc, _wrong_value(detail, loc, document, model))]


def _unknown_key(loc: Loc, value: Any, model: type[BaseModel]) -> str:
    key, known = str(loc[-1]), known_keys(model, loc[:-1])
    valid = f"Valid here: {', '.join(known)}" if known else ""
    near = nearest(key, known)
    if near:
        return f"unknown key; did you mean `{near}`? {valid}"
    if " " in key.strip():
        return f"unknown key; {_quote_sentence({key: value})}"
    homes = owners(model, key)
    if homes:
        return f"this key belongs {' or '.join(homes)}. {valid}"
    return f"unknown key. {valid}"


def _quote_sentence(mapping: Mapping[str, Any]) -> str:
    """The advice for a sentence that an unquoted colon turned into a mapping."""
    key, value = next(iter(mapping.items()))
    rest = "…" if isinstance(value, (Mapping, list)) or value is None else value
    return f"""if this is one text with a colon in it, put it in quotes: '{_short(f"{key}: {rest}")}'"""


def _wrong_value(detail: ErrorDetails, loc: Loc, document: Document, model: type[BaseModel]) -> str:
    kind, value = detail["type"], detail["input"]
    written = document.written(loc) if document.has(loc) else ""
    got = describe(value, written)
    if kind == "string_type":
        text = "text or a mapping" if detail["loc"][-1] == f"{UNION_TAG}text" else "text"
        return f"must be {text}, got {got}{_how_to_text(value, written)}"
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}, got {got}{_how_to_list(kind, value, loc, model)}"
    if kind in _MAPPINGS:
        keys = known_keys(model, loc)
        return f"must be a mapping{' with the keys ' if keys else ''}{', '.join(keys)}, but it is {got}"
    if kind in _CHOICES:
        return f"must be one of {_choices(detail)}, got {got}{_did_you_mean(detail)}"
    if kind in _RANGES:
        return f"must be {limits(model, loc)}, got {got}"
    if kind in _EMPTY:
        return _EMPTY[kind]
    if kind == "value_error":
        words = str(detail["ctx"]["error"])
        return words if ", got " in words else f"{words}, got {got}"
    return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}; got {got}"


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
_MAPPINGS = frozenset(("model_type", "model_attributes_type", "dict_type"))
_CHOICES = frozenset(("literal_error", "enum"))
_RANGES = frozenset(("greater_than_equal", "less_than_equal", "greater_than", "less_than"))
_EMPTY = {
    "string_too_short": "must not be empty",
    "too_short": "must not be empty: at least one item is needed",
}


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
    return "; begin each item with `- ` on a line of its own" if isinstance(value, str) else ""


def _choices(detail: ErrorDetails) -> str:
    return str(detail["ctx"]["expected"]).replace("'", "`").replace(" or ", ", ")


def _did_you_mean(detail: ErrorDetails) -> str:
    choices = [word.strip("` ") for word in _choices(detail).split(",")]
    near = nearest(str(detail["input"]), choices)
    return f"; did you mean `{near}`?" if near else ""
