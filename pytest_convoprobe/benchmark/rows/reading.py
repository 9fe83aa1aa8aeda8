"""Reads objects of JSON that somebody else may have written, and explains mistakes as in all files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from ...errors import ResultsError
from ...yaml_source import Document
from ...yaml_source.explain import MISSING, describe, explain, must_be, must_be_mapping

T = TypeVar("T")

# A number is not read as a text, nor a text as a number: what is another type was meant as something else.
Text = Annotated[str, Field(strict=True)]
Number = Annotated[int, Field(strict=True)]
Truth = Annotated[bool, Field(strict=True)]


def read_object(adapter: TypeAdapter[T], data: Any, what: str) -> T:
    """The object; a field of null is as if it was not there. Raises `ResultsError` that names the field."""
    if not isinstance(data, Mapping):
        raise not_an_object(data, what)
    try:
        return adapter.validate_python({name: value for name, value in data.items() if value is not None})
    except ValidationError as error:
        first = explain(error, Document(data), BaseModel)[0]
        raise _wrong(data, what, first.path, first.message) from None


def not_an_object(data: Any, what: str) -> ResultsError:
    """What to raise for something that isn't an object at all."""
    return ResultsError(f"a {what} {must_be_mapping(describe(data))}")


def wrong_value(data: Mapping[str, Any], what: str, name: str, expected: str) -> ResultsError:
    """What to raise for a value that is missing or of another kind than is expected."""
    return _wrong(data, what, name, must_be(expected, data[name]) if name in data else MISSING)


def _wrong(data: Mapping[str, Any], what: str, path: str, message: str) -> ResultsError:
    which = f" {data['id']}" if isinstance(data.get("id"), str) else ""
    return ResultsError(f"the {what}{which}: {path}: {message}")
