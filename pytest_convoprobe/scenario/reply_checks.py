"""What the agent says, checked by code: parts of its replies, their form, language and length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..yaml_source.explain import UNION_TAG, complain, complain_of_keys, describe, refusal
from .conditions import Condition, DataPath, Pattern
from .fields import Count, Given, ReplyTurn, ScenarioPart, Text
from .languages import LANGUAGES, language_complaint
from .reply_rules import ABSENCE, CHECKS, bounds_complaints, foreign_keys, reply_complaints

# Errors leave out what begins so: what is short for a mapping has no key in the file.
_AS_WRITTEN = f"{UNION_TAG}as written"


def check_language(value: Any) -> str:
    """The code of a language that can be recognised."""
    problem = language_complaint(value)
    if problem:
        raise refusal(problem if isinstance(value, (bool, str)) else f"{problem}, got {describe(value)}")
    return str(value)


LanguageCode = Annotated[
    str, BeforeValidator(check_language), Field(json_schema_extra={"enum": list(LANGUAGES)})
]
"""The code of a language, such as `en`."""


def _text_or_list(value: Any) -> str:
    return f"{UNION_TAG}list" if isinstance(value, (list, tuple)) else f"{UNION_TAG}one"


Texts = Annotated[
    Annotated[Text, Tag(f"{UNION_TAG}one")] | Annotated[tuple[Text, ...], Tag(f"{UNION_TAG}list")],
    Discriminator(_text_or_list),
]
"""A text, or several."""


def texts_of(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """A text or several, as several."""
    return (value,) if isinstance(value, str) else value or ()


def _turns_form(value: Any) -> str:
    if isinstance(value, str):
        return f"{UNION_TAG}word"
    return f"{UNION_TAG}list" if isinstance(value, (list, tuple)) else f"{UNION_TAG}number"


WhichTurns = Annotated[
    Annotated[Literal["any", "all", "last"], Tag(f"{UNION_TAG}word")]
    | Annotated[ReplyTurn, Tag(f"{UNION_TAG}number")]
    | Annotated[tuple[ReplyTurn, ...], Tag(f"{UNION_TAG}list")],
    Discriminator(_turns_form),
]
"""The turns whose replies a check is about; those of a list all have to fulfil it."""


def _true_or_parts(value: Any) -> str:
    return f"{UNION_TAG}parts" if isinstance(value, (Mapping, BaseModel)) else f"{UNION_TAG}true"


def check_true(value: Any) -> bool:
    """`true`, for JSON of any content."""
    if value is not True:
        raise refusal(f"must be true, or a mapping of paths and values, got {describe(value)}")
    return True


JsonParts = Annotated[
    Annotated[bool, BeforeValidator(check_true), Tag(f"{UNION_TAG}true")]
    | Annotated[dict[DataPath, Condition], Tag(f"{UNION_TAG}parts")],
    Discriminator(_true_or_parts),
]
"""Conditions on parts of a reply in JSON by their paths; `true` if any JSON will do."""


class ReplyLanguage(ScenarioPart):
    """The language that a reply is written in."""

    one_of: tuple[LanguageCode, ...] = Field(
        min_length=1,
        validation_alias=AliasChoices("one_of", _AS_WRITTEN),
        description="The languages that a reply may have, as codes of ISO 639-1.",
        examples=[["de"], ["nb", "nn"]],
    )
    among: tuple[LanguageCode, ...] = Field(
        (),
        description="All languages that come into question, if there are only a few. Short replies can be "
        "recognised then. By default: all that are known.",
        examples=[["de", "en"]],
    )

    @model_validator(mode="after")
    def _others_possible(self) -> ReplyLanguage:
        missing = [code for code in self.one_of if self.among and code not in self.among]
        if missing:
            complain([(("among",), f"`{missing[0]}` of `one_of` is missing here")])
        if self.among and {*self.among} <= {*self.one_of}:
            complain([(("among",), "name another language too: with these alone, every reply fulfils it")])
        return self


def as_language(value: Any) -> Any:
    """A code or a list of codes is short for `one_of`."""
    if isinstance(value, (Mapping, BaseModel)):
        return value
    return {_AS_WRITTEN: value if isinstance(value, (list, tuple)) else [value]}


class LanguageForms:
    """For the JSON Schema of what `as_language` accepts."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        code = {"enum": list(LANGUAGES)}
        return {"anyOf": [handler(schema), code, {"type": "array", "minItems": 1, "items": code}]}


class CountBounds(ScenarioPart):
    """How many there have to be."""

    at_least: Given[Count] = Field(None, description="This many or more.")
    at_most: Given[Count] = Field(None, description="This many or less.")

    @model_validator(mode="after")
    def _bound_something(self) -> CountBounds:
        complain(bounds_complaints(self.at_least, self.at_most))
        return self


class ReplyLength(ScenarioPart):
    """How long a reply is."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    characters: Given[CountBounds] = Field(None, description="Its characters, spaces included.")
    words: Given[CountBounds] = Field(None, description="Its words, which are separated by spaces.")

    @model_validator(mode="before")
    @classmethod
    def _counts_something(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            bounds = [key for key in data if key in CountBounds.model_fields]
            unit = "say what is counted: `characters: {{{0}: …}}` or `words: {{{0}: …}}`"
            complain_of_keys(((key,), unit.format(key)) for key in bounds)
            complain([((), "this says nothing; give it `characters` or `words`")] if not data else [])
        return data


class ReplyCheck(ScenarioPart):
    """What replies of the agent are; a reply fulfils it if all keys that are given hold for it.

    Texts are compared without regard to how characters are encoded: composed or not (NFC), typographic or
    plain apostrophes, quote marks and hyphens, spaces that don't break, and invisible characters. For
    `contains`, `not_contains` and `equals`, any sequence of spaces and line breaks is one space.

    - `contains`: it has this part; of a list, all of them. `not_contains`: it has none of them.
    - `matches`: the regular expression is found somewhere in it (`re.search`). `not_matches`: it isn't.
    - `equals`: it is this text.
    - `json`: the reply as a whole, or the only block of code in it that is JSON, has these values.
    - `language`: it is written in this language. Code, addresses and words with digits don't count.
    - `length`: it has so many characters or words.
    """

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [check]} for check in CHECKS]})

    contains: Given[Texts] = Field(
        None, description="It has this part; of a list, all of them.", examples=["A-1001", ["Oslo", "Monday"]]
    )
    not_contains: Given[Texts] = Field(
        None, description="It doesn't have this part; of a list, none of them.", examples=["password"]
    )
    matches: Given[Pattern] = Field(
        None, description="A regular expression that is found in it.", examples=["\\$\\d+\\.\\d\\d"]
    )
    not_matches: Given[Pattern] = Field(None, description="A regular expression that is not found in it.")
    equals: Given[Text] = Field(None, description="It is this text.", examples=["You're welcome!"])
    # A model of pydantic has a method of that name.
    in_json: Given[JsonParts] = Field(
        None,
        alias="json",
        description="Conditions on parts of a reply in JSON, by paths with dots; `true` if any JSON will do.",
        examples=[{"status": "shipped", "items.0.price": {"at_most": 90}}, True],
    )
    language: Given[Annotated[ReplyLanguage, BeforeValidator(as_language), LanguageForms()]] = Field(
        None,
        description="The language that it is written in, as a code of ISO 639-1, or several of which one is "
        "enough. Needs the extra `language`.",
        examples=["de", ["nb", "nn"], {"one_of": ["de"], "among": ["de", "en"]}],
    )
    length: Given[ReplyLength] = Field(
        None, description="How long it is.", examples=[{"words": {"at_most": 80}}]
    )
    turn: Given[WhichTurns] = Field(
        None,
        description="Which replies: `any` (one of them is enough), `all`, `last`, the number of a turn, or a "
        "list of numbers; 0 is the greeting of an agent that speaks first. By default `all` for "
        f"{', '.join(ABSENCE)}, and `any` for the others.",
        examples=["last", 2, [1, 2]],
    )
    ignore_case: bool = Field(False, strict=True, description="Upper and lower case are the same.")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        if isinstance(data, str):
            raise refusal(f"must be a mapping, such as `contains: …`, got {describe(data)}")
        complain_of_keys(foreign_keys(data) if isinstance(data, Mapping) else ())
        return data

    @model_validator(mode="after")
    def _checks_something(self) -> ReplyCheck:
        given = {name: getattr(self, name) for name in self.model_fields_set}
        complain(
            reply_complaints({"json" if name == "in_json" else name: value for name, value in given.items()})
        )
        return self

    @property
    def turns(self) -> str | tuple[int, ...]:
        """Which replies it is about: `any`, `all`, `last`, or the numbers of turns."""
        if isinstance(self.turn, int):
            return (self.turn,)
        if self.turn is not None:
            return self.turn
        return "all" if any(getattr(self, check) is not None for check in ABSENCE) else "any"
