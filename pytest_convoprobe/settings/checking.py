"""One section's values checked against its model, with problems in words that need no pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import Problem
from ..yaml_source import Loc
from ..yaml_source.suggest import nearest
from .aliases import MODEL_ALIASES, known_fields
from .environment import is_secret
from .models import HttpTarget, ModelSettings, ModelTarget, PythonTarget

S = TypeVar("S", bound=BaseModel)

TARGETS: dict[str, type[BaseModel]] = {"model": ModelTarget, "python": PythonTarget, "http": HttpTarget}

# What people write who come from elsewhere, and what it is called here.
_ELSEWHERE = {
    "agent": "target",
    "headers": "extra_headers",
    "instructions": "extra_instructions",
    "params": "extra_params",
    "max_concurrency": "concurrency",
    "model_name": "model",
    "name": "model",
    "parallel": "concurrency",
    "retries": "max_attempts",
    "simulator": "synthetic_user",
    "user": "synthetic_user",
    "workers": "concurrency",
    "api_url": "api_base",
    "factory": "object",
    "prompt": "system_prompt",
}


class Reporter(Protocol):
    """Makes a problem of words and a path: a document does, and so does the command line."""

    def problem(self, message: str, path: Loc, *, at_key: bool = False) -> Problem: ...


def check(
    model: type[S], values: Any, path: Loc, reporter: Reporter, lacking: Iterable[str] = ()
) -> tuple[S | None, list[Problem]]:
    """The section as an object, or all that is wrong with it.

    `lacking` are fields whose text wants for a variable: they are told elsewhere, so not here.
    """
    if values is None:
        values = {}
    if not isinstance(values, Mapping):
        return None, [reporter.problem(f"expected a mapping, got {describe(values)}{_shorthand(path)}", path)]
    known = known_fields(model)
    problems = [_unknown(key, known, model, path, reporter) for key in values if key not in known]
    given = {key: value for key, value in values.items() if key in known and value is not None}
    try:
        return model.model_validate(given), problems
    except ValidationError as error:
        details = [item for item in error.errors(include_url=False) if not _is_lacking(item, lacking)]
        return None, problems + [_in_words(item, path, reporter) for item in details]


def check_target(
    values: Any, path: Loc, reporter: Reporter, lacking: Iterable[str] = ()
) -> tuple[BaseModel | None, list[Problem]]:
    """The target of the type that it names."""
    kind = values.get("type") if isinstance(values, Mapping) else None
    if isinstance(values, Mapping) and not (isinstance(kind, str) and kind in TARGETS):
        return None, [_unknown_type(kind, values, path, reporter)]
    return check(TARGETS.get(str(kind), ModelTarget), values, path, reporter, lacking)


def unknown_section(
    key: str, known: tuple[str, ...], reporter: Reporter, elsewhere: Mapping[str, str] = _ELSEWHERE
) -> Problem:
    """A section that there isn't. `elsewhere` has the names of other systems, each with ours."""
    return _problem(key, known, meant(key, known, elsewhere=elsewhere), (), reporter)


def meant(
    key: str, known: Iterable[str], aliases: Iterable[str] = (), elsewhere: Mapping[str, str] = _ELSEWHERE
) -> str | None:
    """The known key that an unknown one most likely stands for."""
    known = tuple(known)
    guess = elsewhere.get(key)
    return guess if guess in known else nearest(key, (*known, *aliases))


def describe(value: Any) -> str:
    """What was found, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else f"{value[:57]}...") if value else "an empty text"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__} ({value})"


def _unknown(
    key: str, known: tuple[str, ...], model: type[BaseModel], path: Loc, reporter: Reporter
) -> Problem:
    aliases = tuple(MODEL_ALIASES) if issubclass(model, ModelSettings) else ()
    return _problem(key, known, meant(key, known, aliases), path, reporter)


def _problem(key: str, known: tuple[str, ...], guess: str | None, path: Loc, reporter: Reporter) -> Problem:
    what = "key" if path else "section"
    hint = f"Did you mean `{guess}`?" if guess else f"Known {what}s: {', '.join(known)}"
    return reporter.problem(f"unknown {what} `{key}`. {hint}", (*path, key), at_key=True)


def _unknown_type(kind: Any, values: Mapping[str, Any], path: Loc, reporter: Reporter) -> Problem:
    signs = {"object": "python", "url": "http", "system_prompt": "model", "model": "model"}
    if kind is not None:
        close = nearest(str(kind), tuple(TARGETS))
        hint = f". Did you mean `{close}`?" if close else ""
        return reporter.problem(
            f"expected model, python or http, got {describe(kind)}{hint}", (*path, "type")
        )
    guess = next((kind for sign, kind in signs.items() if sign in values), None)
    hint = f"; for this one write `type: {guess}`" if guess else ""
    return reporter.problem(f"`type` is missing: model, python or http{hint}", path)


def _shorthand(path: Loc) -> str:
    if path == ("target",):
        return "; write `target: {type: python, object: package.module:agent}`, or type model or http"
    return f"; write `{path[-1]}: {{model: openai/gpt-4o-mini}}`" if path[-1:] != ("run",) else ""


def _is_lacking(item: ErrorDetails, lacking: Iterable[str]) -> bool:
    return item["type"] == "missing" and str(item["loc"][-1]) in lacking


def _in_words(item: ErrorDetails, path: Loc, reporter: Reporter) -> Problem:
    where = (*path, *item["loc"])
    if item["type"] == "missing":
        return reporter.problem(f"`{where[-1]}` is missing", where[:-1])
    found = "something else" if is_secret(where) else describe(item["input"])
    return reporter.problem(_explain(item, found), where)


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "tuple_type": "a list",
}


def _explain(item: ErrorDetails, found: str) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "string_too_short":
        return "expected text, got none"
    if kind == "value_error":
        words = str(context["error"])
        return words if ", got " in words else f"{words}, got {found}"
    if kind == "literal_error":
        return f"expected {context['expected'].replace(chr(39), '')}, got {found}{_closest(item, context)}"
    for bound, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        if bound in context:
            return f"expected a number of {words} {context[bound]:g}, got {found}"
    quotes = (
        "; put it in quotes" if kind == "string_type" and type(item["input"]) in (int, float, bool) else ""
    )
    return f"expected {_EXPECTED.get(kind, item['msg'])}, got {found}{quotes}"


def _closest(item: ErrorDetails, context: Mapping[str, Any]) -> str:
    choices = re.findall(r"'([^']*)'", context["expected"])
    close = nearest(str(item["input"]).lower(), choices)
    return f". Did you mean `{close}`?" if close else ""
