"""How the agent is judged: criteria for the judge, and what code checks."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field, field_validator, model_validator

from ..yaml_source import Loc
from ..yaml_source.explain import complain, required_here
from .fields import CheckReference, Count, Limit, ScenarioPart, Seconds
from .reply_checks import ReplyCheck
from .sentences import CriterionItem
from .tool_usage import ToolUsage


class Efficiency(ScenarioPart):
    """Limits that code checks; without a number there is no limit."""

    max_tool_calls: Count | None = Field(
        None, description="Maximum number of tool calls in the conversation."
    )
    max_llm_tokens: Limit | None = Field(
        None, description="Maximum number of tokens of the agent, which must report them."
    )
    max_conversation_turns: Limit | None = Field(
        None, description="Maximum number of turns. More fail the scenario; `max_turns` only ends it."
    )
    max_turn_latency: Seconds | None = Field(
        None,
        description="Maximum time in seconds that the agent takes for a turn. It can't be checked where the "
        "agent's model is replayed.",
        examples=[5, 0.8],
    )

    @property
    def has_checks(self) -> bool:
        """Whether there is a limit at all."""
        return any(limit is not None for _, limit in self)


class Evaluation(ScenarioPart):
    """The criteria and checks; the scenario passes if all of them hold.

    Where code checks something and the judge decides nothing, there needn't be a criterion, and no judge is
    asked.
    """

    correctness_criteria: tuple[CriterionItem, ...] = Field(
        (),
        description="What the agent must do, one sentence each. The judge decides. At least one, unless all "
        "checks are by code.",
        examples=[["The agent tells the price in euros"]],
    )
    failure_criteria: tuple[CriterionItem, ...] = Field(
        (),
        description="What the agent must not do, one sentence each. The judge decides.",
        examples=[["The agent asks for a password"]],
    )
    tool_usage: ToolUsage = Field(ToolUsage(), description="Tools that must, may or must not be called.")
    efficiency: Efficiency = Field(Efficiency(), description="Limits on tool calls, tokens and turns.")
    replies: tuple[ReplyCheck, ...] = Field(
        (),
        description="What the agent says, checked by code.",
        examples=[[{"contains": "refund"}, {"not_contains": "password"}, {"turn": "last", "language": "en"}]],
    )
    checks: tuple[CheckReference, ...] = Field(
        (),
        description="Functions of the project that check the conversation, the agent or its state: "
        "`package.module:function` or `path/file.py:function`.",
        examples=[["checks.py:order_is_cancelled"]],
    )

    @field_validator("checks")
    @classmethod
    def _each_once(cls, checks: tuple[str, ...]) -> tuple[str, ...]:
        again = [(place, name) for place, name in enumerate(checks) if name in checks[:place]]
        complain(((place,), f"`{name}` is there already") for place, name in again)
        return checks

    @model_validator(mode="after")
    def _has_criteria(self) -> Evaluation:
        if not self.correctness_criteria and self.asks_judge:
            raise required_here(
                "correctness_criteria", f". A scenario that asks the judge says what must be. {_LEFT_OUT}"
            )
        if not (self.correctness_criteria or self.has_checks):
            raise required_here("correctness_criteria", f". {_LEFT_OUT}")
        return self

    @property
    def has_checks(self) -> bool:
        """Whether code checks anything."""
        return any((self.tool_usage.has_checks, self.efficiency.has_checks, self.replies, self.checks))

    @property
    def asks_judge(self) -> bool:
        """Whether there is anything for the judge to decide. Otherwise code decides everything."""
        return bool(self.correctness_criteria or self.failure_criteria or self.tool_usage.has_sentences)

    def named_turns(self) -> Iterator[tuple[Loc, int]]:
        """The turns that checks are about, with their places below this one."""
        for place, turn in self.tool_usage.named_turns():
            yield ("tool_usage", *place), turn
        for index, check in enumerate(self.replies):
            for turn in check.turns if isinstance(check.turns, tuple) else ():
                yield ("replies", index, "turn"), turn


_LEFT_OUT = (
    "It can be left out where code decides everything, by `tool_usage`, `efficiency`, `replies` or `checks`"
)
