"""`faults:` of a scenario or a target: what goes wrong with which call of which tool or model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

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


def _named(what: str) -> Callable[[str], str]:
    """A check of names, or patterns of names; `what` has them."""

    def check(value: str) -> str:
        if problem := name_complaint(value, what):
            raise refusal(f"{problem}; got {describe(value)}")
        return value

    return check


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
    Field(json_schema_extra={"pattern": r"\S"}),
]
_Tool = Annotated[_Name, AfterValidator(_named("tool"))]
_Model = Annotated[_Name, AfterValidator(_named("model"))]
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
_Calls = Annotated[
    tuple[int, ...],
    BeforeValidator(_calls),
    WithJsonSchema({"anyOf": [_CALL_SCHEMA, {"type": "array", "minItems": 1, "items": _CALL_SCHEMA}]}),
]
_Chance = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
_Seconds = Annotated[float, Field(strict=True, gt=0, le=3600, allow_inf_nan=False)]

# The agent reads these: they must not show that somebody has put them there.
_ERRORS_OF_TOOLS: Mapping[str, str] = {
    "error": "internal error",
    "timeout": "the request timed out",
    "rate_limit": "429 Too Many Requests: the rate limit is exceeded",
}
_ERRORS_OF_MODELS: Mapping[str, str] = {
    "error": "The server had an error while processing your request",
    "rate_limit": "Rate limit reached for requests",
}

# Which key belongs to which kinds; each other key goes with all.
_KINDS_OF_TOOLS: Mapping[str, tuple[str, ...]] = {
    "message": tuple(_ERRORS_OF_TOOLS),
    "seconds": ("delay", "timeout"),
    "length": ("truncated",),
    "result": ("result",),
}
_KINDS_OF_MODELS: Mapping[str, tuple[str, ...]] = {
    "message": tuple(_ERRORS_OF_MODELS),
    "seconds": ("delay", "timeout", "rate_limit"),
    "length": (),
    "result": (),
}


_OF_MODELS = [kind for kind in get_args(FaultKind) if kind != "result"]


def _schema_of(key: str, other: str, **more: Any) -> Any:
    """JSON Schema for the faults that have one of two keys."""
    properties = {key: {"type": "string"}, other: {"type": "null"}, **more}
    return {"required": [key], "properties": properties}


_SCHEMA: dict[str, Any] = {
    "not": {"required": ["call", "chance"]},
    "oneOf": [_schema_of("tool", "model"), _schema_of("model", "tool", kind={"enum": _OF_MODELS})],
    "allOf": [
        {
            "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
            "then": {"required": [key]},
        }
        for kind, key in (("delay", "seconds"), ("result", "result"))
    ],
}


class FaultRule(BaseModel):
    """One fault: in which calls of which tools or models, and what goes wrong there.

    Without `call` and `chance` it is in every call. Calls are counted for each tool, and for each model, in
    the order in which the agent asks for them, through the whole conversation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_SCHEMA)

    tool: _Tool | None = Field(
        None, description="The tool's name, or a pattern of names.", examples=["get_weather", "search_*"]
    )
    model: _Model | None = Field(
        None,
        description="Instead of `tool`: the name of a model that the agent calls itself, as it asks for it, "
        "or a pattern of names. The target needs `models`.",
        examples=["gpt-4o*", "*"],
    )
    kind: FaultKind = Field(
        description="`error`, `timeout`, `rate_limit`: the tool is not carried out, and its call ends in an "
        "error. `result`: it is not carried out, and its result is that of the fault. `delay`: it answers "
        "later. `empty`, `truncated`, `corrupted`: it is carried out, and its result is spoiled. A model "
        "answers with the status 500 (`error`) or 429 (`rate_limit`), not at all (`timeout`), with nothing "
        "(`empty`), with what nobody can read (`corrupted`), or its answer breaks off (`truncated`)."
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
        None,
        description="`error`, `timeout` of a tool, `rate_limit`: the words of the error that the agent gets.",
    )
    seconds: _Seconds | None = Field(
        None,
        description="`delay`: how long, in seconds; less than `run.turn_timeout`. `timeout`: how long it "
        "takes until the call fails, by default no time. `rate_limit` of a model: its `Retry-After`.",
    )
    length: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None,
        description="`truncated` of a tool: how many characters are left. Without it, half of them.",
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
        complain([*self._whose(), *self._keys_of_others(), *self._choice_of_calls(), *self._missing()])
        return self

    def _whose(self) -> Iterator[tuple[Loc, str]]:
        if self.tool is None and self.model is None:
            yield (), "a fault needs `tool` or `model`: whose calls go wrong"
        if self.tool is not None and self.model is not None:
            yield ("model",), "give `tool` or `model`, not both: write two faults"
        if self.model is not None and self.kind == "result":
            yield ("kind",), f"`result` is for tools; a model's fault is one of {_listed(_OF_MODELS)}"

    def _keys_of_others(self) -> Iterator[tuple[Loc, str]]:
        for key, kinds in (_KINDS_OF_MODELS if self.model else _KINDS_OF_TOOLS).items():
            if getattr(self, key) is not None and self.kind not in kinds:
                whose = f"of the kind `{self.kind}`" if kinds else "of a model"
                belongs = _listed(kinds) if kinds else "faults of tools"
                yield (key,), f"a fault {whose} has no `{key}`; it belongs to {belongs}"

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

    @property
    def pattern(self) -> str:
        """The name or pattern of the tools, or of the models, that it is about."""
        return self.tool or self.model or ""

    def is_for(self, name: str) -> bool:
        """Whether it is about the tool, or the model, of this name."""
        return matches(self.pattern, name)

    @property
    def error(self) -> str:
        """The words of the error that the agent gets; empty for kinds that give a result."""
        errors = _ERRORS_OF_MODELS if self.model else _ERRORS_OF_TOOLS
        return (self.message or errors[self.kind]) if self.kind in errors else ""

    @property
    def wait(self) -> float:
        """How long it takes before anything happens, in seconds."""
        return (self.seconds or 0) if self.kind in ("delay", "timeout") else 0

    @property
    def words(self) -> str:
        """What is wrong with a call, for people and for the judge: `error: internal error`."""
        if self.kind == "delay":
            return f"delayed by {exact_seconds(self.seconds or 0)}"
        name = (_WORDS_OF_MODELS if self.model else _WORDS_OF_TOOLS)[self.kind]
        return f"{name}: {self.error}" if self.error else name

    @property
    def where(self) -> str:
        """Which calls it is for: `call 1 or 2 of get_weather`, `a call of search_*`."""
        whose = f"the model `{self.model}`" if self.model else f"`{self.tool}`"
        return f"a call of {whose}" if self.call is None else f"call {_either(self.call)} of {whose}"


_WORDS_OF_TOOLS: Mapping[str, str] = {
    "error": "error",
    "timeout": "timeout",
    "rate_limit": "rate limit",
    "empty": "empty result",
    "truncated": "truncated result",
    "corrupted": "corrupted result",
    "result": "fixed result",
}
_WORDS_OF_MODELS: Mapping[str, str] = {
    "error": "error 500",
    "timeout": "no answer",
    "rate_limit": "rate limit",
    "empty": "empty answer",
    "truncated": "answer cut off",
    "corrupted": "corrupted answer",
}


def of_tools(rules: Iterable[FaultRule]) -> tuple[FaultRule, ...]:
    """Those that are about calls of tools."""
    return tuple(rule for rule in rules if rule.tool)


def of_models(rules: Iterable[FaultRule]) -> tuple[FaultRule, ...]:
    """Those that are about the calls that the agent makes to models."""
    return tuple(rule for rule in rules if rule.model)


def _either(numbers: Iterable[int]) -> str:
    return " or ".join(map(str, numbers))


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)
