"""Reads objects of JSON that somebody else may have written: with pydantic, and in words of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from ...errors import ResultsError

T = TypeVar("T")

# A number is not read as a text, nor a text as a number: what is another type was meant as something else.
Text = Annotated[str, Field(strict=True)]
Number = Annotated[int, Field(strict=True)]
Truth = Annotated[bool, Field(strict=True)]

_EXPECTED = {
    "string": "a text",
    "missing": "a text",
    "int": "a whole number",
    "bool": "true, false or null",
    "tuple": "a list",
    "dict": "an object",
    "mapping": "an object",
    "dataclass": "an object",
}
"""By the beginning of pydantic's name of an error. Only texts have no default, so only they are missing."""


def read_object(adapter: TypeAdapter[T], data: Any, what: str) -> T:
    """The object; a field of null is as if it was not there. Raises `ResultsError` that names the field."""
    if not isinstance(data, Mapping):
        raise not_an_object(data, what)
    try:
        return adapter.validate_python({name: value for name, value in data.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        expected = _EXPECTED.get(first["type"].partition("_")[0], "of another kind")
        name = ".".join(str(part) for part in first["loc"])
        found = "missing" if first["type"] == "missing" else _shown(first["input"])
        raise _wrong(data, what, name, expected, found) from None


def not_an_object(data: Any, what: str) -> ResultsError:
    """What to raise for something that isn't an object at all."""
    return ResultsError(f"a {what} should be an object, but is {_shown(data)}")


def wrong_value(data: Mapping[str, Any], what: str, name: str, expected: str) -> ResultsError:
    """What to raise for a value that is missing or of another kind than is expected."""
    return _wrong(data, what, name, expected, _shown(data[name]) if name in data else "missing")


def _wrong(data: Mapping[str, Any], what: str, name: str, expected: str, found: str) -> ResultsError:
    which = f" {data['id']}" if isinstance(data.get("id"), str) else ""
    return ResultsError(f"the {what}{which}: `{name}` should be {expected}, but is {found}")


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:60]
