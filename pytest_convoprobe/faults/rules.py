"""`faults:` of a scenario or a target: what goes wrong with which call of which tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from ..formatting import exact_seconds
from ..tool_patterns import matches, name_complaint
from ..yaml_source import Loc
from ..yaml_source.explain import complain, describe, refusal

FaultKind = Literal["error", "timeout", "delay", "empty", "truncated", "corrupted", "result", "rate_limit"]

_MOST_CALL = 1000
_CALL_SCHEMA = {"type": "integer", "minimum": 1, "maximum": _MOST_CALL}


def _tool(value: str) -> str:
    if problem := name_complaint(value):
        raise refusal(f"{problem}; got {describe(value)}")
    return value


def _calls(value: Any) -> Any:
    """A number, or a list of numbers, as a tuple."""
    numbers = list(value) if isinstance(value, (list, tuple)) else [value]
    whole = (isinstance(one, int) and not isinstance(one, bool) for one in numbers)
    if not numbers or not all(whole) or not all(1 <= one <= _MOST_CALL for one in numbers):
        raise refusal(
            f"must be the number of a call, from 1 to {_MOST_CALL}, or a list of them, got {describe(value)}"
        )
    return tuple(numbers)


_Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    AfterValidator(_tool),
    Field(json_schema_extra={"pattern": r"\S"}),
]
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
_Calls = Annotated[
    tuple[int, ...],
    BeforeValidator(_calls),
    WithJsonSchema({"anyOf": [_CALL_SCHEMA, {"type": "array", "minItems": 1, "items": _CALL_SCHEMA}]}),
]
_Chance = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
_Seconds = Annotated[float, Field(strict=True, gt=0, le=3600, allow_inf_nan=False)]

MESSAGES: Mapping[str, str] = {
    # The agent reads them: they must not show that somebody has put them there.
    "error": "internal error",
    "timeout": "the request timed out",
    "rate_limit": "429 Too Many Requests: the rate limit is exceeded",
}
"""The words of the error that the agent gets, for the kinds that end in one."""

# Which key belongs to which kinds; each other key goes with all.
_KINDS_OF: Mapping[str, tuple[str, ...]] = {
    "message": tuple(MESSAGES),
    "seconds": ("delay", "timeout"),
    "length": ("truncated",),
    "result": ("result",),
}


class FaultRule(BaseModel):
    """One fault: in which calls of which tools, and what goes wrong there.

    Without `call` and `chance` it is in every call. Calls are counted for each tool, in the order in which
    the agent asks for them, through the whole conversation.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={
            "not": {"required": ["call", "chance"]},
            "allOf": [
                {
                    "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
                    "then": {"required": [key]},
                }
                for kind, key in (("delay", "seconds"), ("result", "result"))
            ],
        },
    )

    tool: _Name = Field(
        description="The tool's name, or a pattern of names.", examples=["get_weather", "search_*"]
    )
    kind: FaultKind = Field(
        description="`error`, `timeout`, `rate_limit`: the tool is not carried out, and its call ends in an "
        "error. `result`: it is not carried out, and its result is that of the fault. `delay`: it answers "
        "later. `empty`, `truncated`, `corrupted`: it is carried out, and its result is spoiled."
    )
    call: _Calls | None = Field(
        None,
        description="The number of the call, from 1, or a list of numbers. Without it, every call.",
        examples=[1, [1, 2]],
    )
    chance: _Chance | None = Field(
        None,
        description="How likely a call gets the fault. The same calls get it in every run.",
        examples=[0.2],
    )
    seed: Annotated[int, Field(strict=True)] = Field(
        0, description="With `chance`: another number chooses other calls."
    )
    message: _Text | None = Field(
        None, description="`error`, `timeout`, `rate_limit`: the words of the error that the agent gets."
    )
    seconds: _Seconds | None = Field(
        None,
        description="`delay`: how long, in seconds; less than `run.turn_timeout`. `timeout`: how long it "
        "takes until the call fails, by default no time.",
    )
    length: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="`truncated`: how many characters are left. Without it, half of them."
    )
    result: JsonValue = Field(
        None, description="`result`: what the agent gets in place of the tool's result."
    )
    optional: Annotated[bool, Field(strict=True)] = Field(
        False,
        description="A conversation without such a call is judged all the same. Otherwise it is an error.",
    )

    @model_validator(mode="after")
    def _fits(self) -> FaultRule:
        complain([*self._keys_of_others(), *self._choice_of_calls(), *self._missing()])
        return self

    def _keys_of_others(self) -> Iterator[tuple[Loc, str]]:
        for key, kinds in _KINDS_OF.items():
            if getattr(self, key) is not None and self.kind not in kinds:
                words = f"a fault of the kind `{self.kind}` has no `{key}`; it belongs to {_listed(kinds)}"
                yield (key,), words

    def _choice_of_calls(self) -> Iterator[tuple[Loc, str]]:
        if self.call is not None and self.chance is not None:
            yield ("chance",), "give `call` or `chance`, not both: one says which calls, the other how many"
        if "seed" in self.model_fields_set and self.chance is None:
            yield ("seed",), "a `seed` is for a `chance`, which this fault doesn't have"

    def _missing(self) -> Iterator[tuple[Loc, str]]:
        if self.kind == "delay" and self.seconds is None:
            yield (), "a delay needs `seconds`: how long it is"
        # Null is a result too.
        if self.kind == "result" and "result" not in self.model_fields_set:
            yield (), "the kind `result` needs a `result`: what the agent gets"

    def is_for(self, tool: str) -> bool:
        """Whether it is about the tool of this name."""
        return matches(self.tool, tool)

    @property
    def error(self) -> str:
        """The words of the error that the agent gets; empty for kinds that give a result."""
        return (self.message or MESSAGES[self.kind]) if self.kind in MESSAGES else ""

    @property
    def words(self) -> str:
        """What is wrong with a call, for people and for the judge: `error: internal error`."""
        if self.kind == "delay":
            return f"delayed by {exact_seconds(self.seconds or 0)}"
        return f"{_WORDS[self.kind]}: {self.error}" if self.error else _WORDS[self.kind]

    @property
    def where(self) -> str:
        """Which calls it is for: `call 1 or 2 of get_weather`, `a call of search_*`."""
        if self.call is None:
            return f"a call of `{self.tool}`"
        return f"call {' or '.join(map(str, self.call))} of `{self.tool}`"


_WORDS: Mapping[str, str] = {
    "error": "error",
    "timeout": "timeout",
    "rate_limit": "rate limit",
    "empty": "empty result",
    "truncated": "truncated result",
    "corrupted": "corrupted result",
    "result": "fixed result",
}


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)
