"""Assertions on tool calls that code decides; their meaning is part of the format."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field, model_validator

from ..yaml_source.explain import complain, complain_of_keys
from .condition_words import foreign_counts
from .conditions import Condition, DataPath
from .fields import Count, Given, ScenarioPart, ToolPattern, Turn
from .rules import FACTS, assertion_complaints


class ToolAssertion(ScenarioPart):
    """Facts about the calls of one tool in the whole conversation; all that are given must hold.

    - `times`, `at_least`, `at_most` count the uses of the tool, whatever their arguments. `times: 0` and
      `at_most: 0` forbid the attempt as well.
    - `args`: there is a use whose arguments satisfy all of these conditions together; with `every: true`
      each call does, failed ones too (and no call at all is fine: add `at_least: 1` to ask for one).
      Names with dots reach into mappings and lists (`address.city`, `items.0.id`), unless the call
      has an argument of exactly that name.
    - `before: other`: the first use of this tool comes before the first call of the other. It holds
      if the other is never called; it fails if the other is called and this one isn't.
    - `after: other`: the first call of this tool comes after the first use of the other. It holds if
      this tool is never called; it fails if this one is called and the other isn't.
    - `by_turn: 2`: `times`, `at_least`, `at_most` and `args` look at the calls of the first two turns alone.
      Without one of these, there is a use by that turn. `in_turn: 2` is the same for turn 2 alone. If the
      conversation ends before that turn, nobody knows, and the scenario ends in an error, unless the agent
      ended it.
    - `not_before_turn: 3`: no call in an earlier turn, whatever its arguments. It holds if the tool is never
      called.

    A use is a call that was carried out and didn't fail. With `tool_usage.count_failed_calls`, failed calls
    are uses too.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [fact]} for fact in FACTS],
            "dependentRequired": {"every": ["args"]},
        }
    )

    times: Count | None = Field(None, description="The tool is called exactly so often.")
    at_least: Count | None = Field(None, description="The tool is called so often or more.")
    at_most: Count | None = Field(None, description="The tool is called so often or less.")
    args: dict[DataPath, Condition] = Field(
        default_factory=dict,
        description="Conditions on arguments by name; a plain value means `equals`, a mapping of the "
        "argument's own keys `includes`.",
        examples=[{"order_id": "A-1001", "amount": {"at_least": 90}, "address": {"city": "Oslo"}}],
    )
    every: bool = Field(False, strict=True, description="Every call must satisfy `args`, not just one.")
    before: ToolPattern | None = Field(None, description="This tool is called before that one.")
    after: ToolPattern | None = Field(None, description="This tool is called after that one.")
    by_turn: Given[Turn] = Field(
        None, description="The calls of this turn and the ones before it count. Alone: there is one."
    )
    in_turn: Given[Turn] = Field(None, description="The calls of this turn count. Alone: there is one.")
    not_before_turn: Given[Turn] = Field(
        None, description="The tool isn't called before this turn.", examples=[3]
    )

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        complain_of_keys(foreign_counts(data) if isinstance(data, dict) else ())
        return data

    @model_validator(mode="after")
    def _consistent(self) -> ToolAssertion:
        complain(assertion_complaints(self, self.model_fields_set))
        return self

    @property
    def least_calls(self) -> int:
        """How many uses of the tool it asks for, in the whole conversation or in some turns."""
        given = (self.times, self.at_least, self.at_most) != (None, None, None)
        is_bound = self.by_turn is not None or self.in_turn is not None
        one = (bool(self.args) and not self.every) or (is_bound and not given and not self.args)
        return max(self.times or self.at_least or 0, int(one))

    @property
    def most_calls(self) -> int | None:
        """How many uses it allows in the whole conversation; None if it doesn't say that."""
        if self.by_turn is not None or self.in_turn is not None:
            return None
        return self.times if self.times is not None else self.at_most
