"""How the agent is judged: criteria for the judge, and what code checks."""

from __future__ import annotations

from pydantic import Field

from .fields import Count, Limit, ScenarioPart
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


class Evaluation(ScenarioPart):
    """The criteria and checks; the scenario passes if all of them hold."""

    correctness_criteria: tuple[CriterionItem, ...] = Field(
        min_length=1,
        description="What the agent must do, one sentence each. The judge decides.",
        examples=[["The agent tells the price in euros"]],
    )
    failure_criteria: tuple[CriterionItem, ...] = Field(
        (),
        description="What the agent must not do, one sentence each. The judge decides.",
        examples=[["The agent asks for a password"]],
    )
    tool_usage: ToolUsage = Field(ToolUsage(), description="Tools that must, may or must not be called.")
    efficiency: Efficiency = Field(Efficiency(), description="Limits on tool calls, tokens and turns.")
