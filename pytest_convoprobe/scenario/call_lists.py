"""A list of the calls that the agent is expected to make."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..suggest import did_you_mean, plain_name
from ..yaml_source.explain import complain, describe, refusal
from .conditions import ArgumentCondition, Condition, DataPath
from .fields import ScenarioPart, ToolPattern

_Order = Literal["strict", "in_order", "unordered", "superset", "subset"]
# What other systems call them. By its letters, `any_order` is nearer to `in_order`.
_ELSEWHERE = {
    "exact": "strict",
    "exact_order": "strict",
    "ordered": "in_order",
    "sequence": "in_order",
    "subsequence": "in_order",
    "any_order": "superset",
    "contains": "superset",
    "any": "unordered",
    "exact_any_order": "unordered",
}


def _check_order(value: Any) -> Any:
    names = get_args(_Order)
    if isinstance(value, str) and value not in names:
        meant = _ELSEWHERE.get(plain_name(value))
        near = f"; did you mean `{meant}`?" if meant else did_you_mean(value, names)
        listed = ", ".join(f"`{name}`" for name in names)
        raise refusal(f"must be one of {listed}, got {describe(value)}{near}")
    return value


CallOrder = Annotated[_Order, BeforeValidator(_check_order)]
MOST_CALLS = 200
"""The most items of one list."""


class ExpectedCall(ScenarioPart):
    """One call: a use of this tool with such arguments, whatever others it has."""

    tool: ToolPattern = Field(description="The tool's name, or a pattern of names.", examples=["find_order"])
    args: dict[DataPath, Condition] = Field(
        default_factory=dict,
        description="Conditions on arguments by name, as in assertions.",
        examples=[{"order_id": "A-1001"}],
        json_schema_extra={"minProperties": 1},
    )

    @field_validator("args")
    @classmethod
    def _some(cls, args: dict[str, ArgumentCondition]) -> dict[str, ArgumentCondition]:
        words = "this has no condition, so any arguments will do; name an argument or leave `args` out"
        complain([] if args else [((), words)])
        return args


def _as_call(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


class _OrName:
    """For the JSON Schema: the name of a tool alone is a call, too."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"type": "string", "pattern": r"\S"}]}


class ExpectedCalls(ScenarioPart):
    """The calls of the whole conversation, compared with a list.

    Each item stands for one call, and each call for one item. A call that failed, or was never carried out,
    is none of them. It isn't another call either, if it would have been one of them.

    - `strict`: exactly these calls, in this order.
    - `in_order`: these calls in this order; others may come between.
    - `unordered`: exactly these calls, in any order.
    - `superset`: these calls in any order; there may be others.
    - `subset`: no calls but these, each at most once; none of them has to be made.
    """

    order: CallOrder = Field(
        "strict", description="How the calls are compared with the list.", examples=["in_order"]
    )
    calls: tuple[Annotated[ExpectedCall, BeforeValidator(_as_call), _OrName()], ...] = Field(
        max_length=MOST_CALLS,
        description="The calls: each a tool, or a mapping with the tool and conditions on its arguments.",
        examples=[["find_order", {"tool": "cancel_order", "args": {"order_id": "A-1001"}}]],
    )

    @field_validator("calls")
    @classmethod
    def _not_idle(cls, calls: tuple[ExpectedCall, ...], info: ValidationInfo) -> tuple[ExpectedCall, ...]:
        order = info.data.get("order")
        if not calls and order in ("in_order", "superset"):
            words = f"with `{order}` an empty list says nothing; with `strict` no tool may be called"
            complain([((), words)])
        return calls

    @property
    def needs_calls(self) -> bool:
        """Whether an agent that calls nothing fails."""
        return bool(self.calls) and self.order != "subset"
