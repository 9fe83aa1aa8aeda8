"""What a value must be: an argument of a tool call, or a part of a reply in JSON."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..yaml_source.explain import UNION_TAG, complain, complain_of_keys, describe, refusal
from .condition_words import CONDITIONS, ELSEWHERE, empty_conditions, foreign_path, unknown_conditions
from .fields import Given, Number, ScenarioPart, Text, check_pattern

Pattern = Annotated[str, AfterValidator(check_pattern)]
"""A regular expression."""

# Errors leave out what begins so: a mapping without a condition's word has its keys where they are written.
_AS_WRITTEN = f"{UNION_TAG}as written"


def as_condition(value: Any) -> Any:
    """A plain value is short for `equals`; a mapping with none of the words of a condition for `includes`."""
    if not isinstance(value, dict):
        return value if isinstance(value, BaseModel) else {"equals": value}
    complain_of_keys(unknown_conditions(value))
    return value if not value or any(key in CONDITIONS for key in value) else {_AS_WRITTEN: value}


class ConditionForms:
    """For the JSON Schema of what `as_condition` accepts."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        plain = {"type": ["string", "number", "boolean", "array", "null"]}
        keys = {"not": {"enum": [*CONDITIONS, *ELSEWHERE]}}
        part = {"type": "object", "minProperties": 1, "propertyNames": keys}
        return {"anyOf": [handler(schema), plain, part]}


def check_path(value: str) -> str:
    """A name or a path with dots, and not one of JSONPath or JSON Pointer, which would find nothing."""
    meant = foreign_path(value)
    if meant:
        raise refusal(f"names in data are joined with dots here; write `{meant}`, got {describe(value)}")
    return value


DataPath = Annotated[Text, AfterValidator(check_path)]
"""The name of a value in data, or the names and the numbers that lead to it, joined with dots."""


class ArgumentCondition(ScenarioPart):
    """What one value must be, such as an argument of a call; all keys that are given must hold.

    - `equals`: the value is this JSON value: mappings whatever the order of their keys, numbers
      by value (`5` is `5.0`), but never a boolean for a number; null is a value too.
    - `not_equals`: it is another one. `one_of`: it equals one of these.
    - `same_items`: it is a list with these items, in any order and each as often as here.
    - `contains`: a text has this part, a list has an equal item, a mapping has this key. `not_contains`: it
      doesn't.
    - `includes`: a mapping has these keys, with values that fulfil these conditions, whatever else it has;
      or, given as a list, a list has an item for each of these conditions.
    - `matches`: the regular expression is found somewhere in the value (`re.search`); what isn't
      a text is looked at as JSON. `not_matches`: it isn't.
    - `at_least`, `at_most`, `above`, `below`: a number in this range. A text with digits is not a number.

    What isn't there fulfils nothing: neither `equals: null` nor `not_equals`.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    # None may be meant: `model_fields_set` says which of them were given.
    equals: JsonValue = Field(None, description="The value is this one.")
    not_equals: JsonValue = Field(None, description="The value is not this one.")
    one_of: Given[tuple[JsonValue, ...]] = Field(None, description="The value is one of these.")
    same_items: Given[tuple[JsonValue, ...]] = Field(
        None, description="A list with these items, in any order.", examples=[["11", "22"]]
    )
    contains: JsonValue = Field(
        None, description="A text with this part, a list with this item, or a mapping with this key."
    )
    not_contains: JsonValue = Field(
        None, description="A text without this part, a list without this item, or a mapping without this key."
    )
    includes: Given[Parts] = Field(
        None,
        validation_alias=AliasChoices("includes", _AS_WRITTEN),
        description="Conditions on keys of a mapping, which may have others; or a list of conditions, for "
        "each of which a list has an item. A mapping without the word of any condition is short for it.",
        examples=[{"city": "Oslo", "zip": {"matches": "^0"}}, [{"sku": "B-7"}]],
    )
    matches: Given[Pattern] = Field(
        None, description="A regular expression that is found in the value.", examples=["^A-\\d{4}$"]
    )
    not_matches: Given[Pattern] = Field(
        None, description="A regular expression that is not found in the value."
    )
    at_least: Given[Number] = Field(None, description="A number that is this or more.", examples=[90])
    at_most: Given[Number] = Field(None, description="A number that is this or less.")
    above: Given[Number] = Field(None, description="A number that is more than this.", examples=[0])
    below: Given[Number] = Field(None, description="A number that is less than this.")

    @model_validator(mode="after")
    def _says_something(self) -> ArgumentCondition:
        complain(empty_conditions({name: getattr(self, name) for name in self.model_fields_set}))
        return self

    @model_serializer(mode="wrap")
    def _with_nulls(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """`not_equals: null` stays also without defaults: its fingerprint isn't that of `equals: null`."""
        nulls = {key: None for key in _NULLS if key in self.model_fields_set and getattr(self, key) is None}
        return {**handler(self), **nulls}


_NULLS = ("not_equals", "not_contains")


Condition = Annotated[ArgumentCondition, BeforeValidator(as_condition), ConditionForms()]
"""A condition in any of its forms."""


def _list_or_mapping(value: Any) -> str:
    return f"{UNION_TAG}list" if isinstance(value, (list, tuple)) else f"{UNION_TAG}mapping"


Parts = Annotated[
    Annotated[dict[DataPath, Condition], Tag(f"{UNION_TAG}mapping")]
    | Annotated[tuple[Condition, ...], Tag(f"{UNION_TAG}list")],
    Discriminator(_list_or_mapping),
]
"""Conditions on keys of a mapping, or on items of a list."""

# Only now is it known what its parts are: conditions again.
ArgumentCondition.model_rebuild()
