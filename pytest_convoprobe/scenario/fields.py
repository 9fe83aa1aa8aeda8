"""The kinds of values that scenario fields are made of."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..project_code.references import read_reference
from ..text import has_words, is_blank
from ..tool_patterns import name_complaint
from ..yaml_source.explain import UNION_TAG, describe, refusal
from ..yaml_source.placeholders import MarkedText, complaint, fill
from .rules import BOOLEAN_WORDS, UNTIL_DONE, pattern_complaint, skip_complaint


class ScenarioPart(BaseModel):
    """A mapping of the format: nothing changes it, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


T = TypeVar("T")


def check_given(value: Any) -> Any:
    """Anything but an empty value: a key without one would check nothing."""
    if value is None:
        raise refusal("there is no value here, so this says nothing; give it one, or leave the key out")
    return value


class _WithoutNull:
    """For the JSON Schema of what `check_given` accepts."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = handler(schema)
        members = [one for one in found["anyOf"] if one != {"type": "null"}]
        return members[0] if len(members) == 1 else {**found, "anyOf": members}


Given = Annotated[T | None, BeforeValidator(check_given), _WithoutNull()]
"""A value where the key is there, else None: for keys of checks, which have to say something."""

NOT_BLANK: dict[str, Any] = {"pattern": r"\S"}
NOT_BOOLEAN_WORD: dict[str, Any] = {
    "pattern": r"\S",
    "not": {"enum": sorted(form for word in BOOLEAN_WORDS for form in {word, word.title(), word.upper()})},
}


def check_visible(value: str) -> str:
    """A text in which there is something to see."""
    if is_blank(value):
        raise refusal("must have visible characters: this text only has invisible ones")
    return value


def check_words(value: str) -> str:
    """A sentence that says something."""
    if not has_words(value):
        raise refusal(f"must say something in words, got {describe(value)}")
    return value


def check_tool_name(value: str) -> str:
    """A name that some tool can have, or a pattern of names."""
    problem = name_complaint(value)
    if problem:
        raise refusal(f"{problem}; got {describe(value)}")
    return value


def check_reference(value: str) -> str:
    """A name of the form `module:function` or `file.py:function`."""
    try:
        read_reference(value)
    except ValueError as error:
        raise refusal(str(error)) from None
    return value


def with_marks(value: Any) -> Any:
    """A text with the marks of what is meant word for word, which is checked later."""
    return value.marked if isinstance(value, MarkedText) else value


_INCLUDE_AS_TEXT = re.compile(r"!include\s+\S+\.(yaml|yml|json)(#\S*)?")
_PARAMETERS = " give the scenario `parameters` with this name,"


def check_placeholders(value: str) -> str:
    """A text as it reaches a model: nothing is filled in, so what looks like a placeholder is a mistake."""
    if _INCLUDE_AS_TEXT.fullmatch(value):
        raise refusal(f"in quotes, this is a text; write `{value}` without them")
    problem = complaint(value, variables=True, advice=_PARAMETERS)
    if problem:
        raise refusal(problem)
    return fill(value, {})


Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    AfterValidator(check_visible),
    AfterValidator(check_placeholders),
    # Last, so that the constraints are those of a text.
    BeforeValidator(with_marks),
    Field(json_schema_extra=NOT_BLANK),
]
"""A text that isn't empty; whitespace around it is cut."""

ToolPattern = Annotated[Text, AfterValidator(check_tool_name)]
"""A tool's name, or a pattern of names."""

Sentence = Annotated[Text, AfterValidator(check_words)]
"""A text with at least one letter or digit: something that can be judged."""

CheckReference = Annotated[Text, AfterValidator(check_reference)]
"""The name of a function of the project."""

Turn = Annotated[int, Field(strict=True, ge=1, le=100)]
"""A number of turns, or the number of a turn."""

ReplyTurn = Annotated[int, Field(strict=True, ge=0, le=100)]
"""The number of a turn in which the agent replies; 0 is its greeting."""

Count = Annotated[int, Field(strict=True, ge=0)]
Limit = Annotated[int, Field(strict=True, ge=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Seconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Temperature = Annotated[float, Field(strict=True, ge=0, le=2, allow_inf_nan=False)]


def check_skip(value: Any) -> Any:
    """A valid `skip`: a boolean or a reason."""
    problem = skip_complaint(value)
    if problem:
        raise refusal(f"{problem}{'' if isinstance(value, str) else f', got {describe(value)}'}")
    return value.strip() if isinstance(value, str) else value


def check_simulate(value: Any) -> Any:
    """A number of turns, or `until_done`."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value != UNTIL_DONE and not (whole and 1 <= value <= 99):
        raise refusal(f"must be a number of turns (from 1 to 99) or `until_done`, got {describe(value)}")
    return value


def check_pattern(value: str) -> str:
    """A regular expression that compiles."""
    problem = pattern_complaint(value)
    if problem:
        raise refusal(problem)
    return value


def text_or_mapping(value: Any) -> str:
    """Which member of a union of a text and a mapping a value is, for its errors."""
    return f"{UNION_TAG}mapping" if isinstance(value, (dict, BaseModel)) else f"{UNION_TAG}text"
