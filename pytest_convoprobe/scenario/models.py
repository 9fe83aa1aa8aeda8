"""A scenario: who talks, what is said, and how the agent is judged.

These models define the format. Files are validated against them, and the JSON Schema (`schema.py`) is
generated from them. Whitespace around texts is removed. Lists become tuples, and all models are frozen.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationInfo,
    field_validator,
)

from ..faults.rules import FaultRule
from ..tool_patterns import matches
from ..yaml_source.explain import UNION_TAG, complain
from .approvals import ApprovalRule, Approvals, ScriptedAnswer
from .assertions import ArgumentCondition, ToolAssertion
from .fields import (
    NOT_BOOLEAN_WORD,
    Count,
    Limit,
    ScenarioPart,
    Sentence,
    Temperature,
    Text,
    ToolPattern,
    Turn,
    check_simulate,
    check_skip,
    text_or_mapping,
)
from .gate_rule import GateRule
from .rules import landmark_complaints, prohibition_complaints, script_complaints
from .sentences import CriterionItem, JudgedSentence, sentence_or_facts

__all__ = [
    "ApprovalRule",
    "ArgumentCondition",
    "ClarificationBehavior",
    "Efficiency",
    "Evaluation",
    "GateRule",
    "JudgedSentence",
    "Landmark",
    "ModelOverride",
    "Scenario",
    "ScenarioConfig",
    "ScriptedAnswer",
    "SimulatedTurns",
    "SyntheticUser",
    "ToolAssertion",
    "ToolCallCriterion",
    "ToolUsage",
    "Traits",
]


class Traits(ScenarioPart):
    """What kind of person the synthetic user is."""

    patience: Literal["low", "medium", "high"] = Field(
        "medium", description="How many questions the user answers before getting impatient."
    )
    verbosity: Literal["concise", "medium", "verbose"] = Field(
        "concise", description="How much the user writes."
    )
    expertise: Literal["novice", "intermediate", "expert"] = Field(
        "novice", description="How well the user knows the subject and its terms."
    )


class ClarificationBehavior(ScenarioPart):
    """What the user knows, and how it answers questions of the agent."""

    known_facts: tuple[Text, ...] = Field(
        (),
        description="What the user knows, and says when asked.",
        examples=[["The order number is A-1001", "It was bought last week"]],
    )
    unknown_facts: tuple[Text, ...] = Field(
        (),
        description="What the user doesn't know. When asked, the user says so.",
        examples=[["The serial number"]],
    )
    traits: Traits = Field(Traits(), description="The user's patience, verbosity and expertise.")


class Landmark(ScenarioPart):
    """An instruction that the user gets in one turn, and not before.

    Turn 1 is the initial query, whose words are fixed. A landmark there is background that the
    user knows from the start.
    """

    turn: Turn = Field(
        description="From 1 (the initial query) to `max_turns`; at most one landmark for each turn."
    )
    instruction: Text = Field(description="The instruction for this turn.")


class SimulatedTurns(ScenarioPart):
    """A part of a script in which the synthetic user writes its own messages."""

    simulate: Annotated[Turn | Literal["until_done"], BeforeValidator(check_simulate)] = Field(
        description="Number of turns; `until_done`: until the user has what it wants.",
        examples=[2, "until_done"],
    )
    instruction: Text | None = Field(None, description="An instruction for these turns.")


def _script_item(value: Any) -> str:
    """Which kind of item of a script a value is."""
    answers = "answer" in value if isinstance(value, dict) else isinstance(value, ScriptedAnswer)
    return f"{UNION_TAG}answer" if answers else text_or_mapping(value)


ScriptItem = Annotated[
    Annotated[Text, Tag(f"{UNION_TAG}text")]
    | Annotated[SimulatedTurns, Tag(f"{UNION_TAG}mapping")]
    | Annotated[ScriptedAnswer, Tag(f"{UNION_TAG}answer")],
    Discriminator(_script_item),
]
"""A literal message, a number of simulated turns, or the answer to what the agent waits for."""


class SyntheticUser(ScenarioPart):
    """The simulated person who talks with the agent.

    `initial_query` is turn 1. The items of `script` are the turns after it, in order. A text is
    sent word for word; a mapping with `simulate` lets the model write the messages, and one with `answer`
    takes no turn: it answers what the agent waits for after the message before it. At the end of the script,
    the conversation ends as if the user were done. Without a script, every turn after the first is simulated.
    """

    persona: Text = Field(
        description="Who the user is: situation, goal, way of speaking.",
        examples=["A customer in a hurry who bought a coffee maker that leaks"],
    )
    initial_query: Text = Field(
        description="The first message, sent word for word.",
        examples=["My order hasn't arrived."],
    )
    max_turns: Turn = Field(
        10, description="The conversation ends after this many turns (a message and the agent's reply)."
    )
    clarification_behavior: ClarificationBehavior = Field(
        ClarificationBehavior(), description="How the user answers questions of the agent."
    )
    script: tuple[ScriptItem, ...] = Field(
        (),
        description="The turns after the initial query, in order: literal messages and simulated turns, and "
        "answers to what the agent waits for.",
        examples=[["And the blue one?", {"simulate": 2}, {"simulate": "until_done"}]],
    )
    landmarks: tuple[Landmark, ...] = Field(
        (), description="Instructions that the user gets one turn at a time."
    )

    approvals: Approvals | None = Field(
        None,
        description="What is answered where the agent waits for a person before it calls a tool: `approve`, "
        "`reject`, or a list of rules by tool. Without an answer, the scenario ends in an error.",
        examples=["approve", [{"tool": "refund", "answer": "reject", "reason": "Too much"}]],
    )
    ends_with_tools: tuple[ToolPattern, ...] = Field(
        (),
        description="Tools with which the agent ends the conversation, such as a transfer to a person. "
        "`*` and `?` match any name.",
        examples=[["transfer_to_*"]],
    )

    @field_validator("script")
    @classmethod
    def _script_fits(cls, script: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        complain(script_complaints(script, info.data.get("max_turns")))
        return script

    @field_validator("landmarks")
    @classmethod
    def _landmarks_fit(cls, landmarks: tuple[Landmark, ...], info: ValidationInfo) -> tuple[Landmark, ...]:
        data = info.data
        complain(landmark_complaints(landmarks, data.get("max_turns"), data.get("script", ())))
        return landmarks


AssertionItem = Annotated[
    Annotated[Sentence, Tag(f"{UNION_TAG}text")]
    | Annotated[ToolAssertion, Tag(f"{UNION_TAG}mapping")]
    | Annotated[JudgedSentence, Tag(f"{UNION_TAG}sentence")],
    Discriminator(sentence_or_facts),
]
"""A sentence that the judge decides, alone or as the `text` of a mapping, or conditions that code decides."""


class ToolCallCriterion(ScenarioPart):
    """Assertions about the calls of one tool."""

    tool: ToolPattern = Field(
        description="The tool's name, or a pattern of names.", examples=["get_weather", "mcp__shop__*"]
    )
    assertions: tuple[AssertionItem, ...] = Field(
        (),
        description="Sentences (for the judge; a mapping with a `text` is one too) and mappings (for code). "
        "All must hold.",
        examples=[["Called with the city that the user named", {"times": 1, "args": {"unit": "celsius"}}]],
    )

    @field_validator("assertions")
    @classmethod
    def _about_something(cls, assertions: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        tool = info.data.get("tool")
        if not assertions:
            complain([((), "an empty list asserts nothing; name an assertion, or leave the key out")])
        complain(
            ((index, key), f"`{tool}` can't come {key} itself; name another tool")
            for index, assertion in enumerate(assertions)
            for key in ("before", "after")
            if tool is not None and matches(getattr(assertion, key, None) or "", tool)
        )
        return assertions


class ToolUsage(ScenarioPart):
    """Which tools the agent must, may and must not call.

    Every name may be a pattern: `*` is any text, `?` one character, `[ab]` one of these. Upper and lower
    case differ.

    A call that was never carried out (the tool doesn't exist, its arguments can't be used, or it was refused)
    is not a use of the tool, and neither is one that failed: they don't satisfy `required_tools`, `times`,
    `at_least`, `args`, `before` or `after`. Each still breaks a prohibition: `prohibited_tools`,
    `only_listed`, `times: 0`, `at_most: 0`, `every`, and the order of `before` and `after`. A call that the
    user rejected is one that was never carried out.

    Calls of other agents count wherever they are made, and so do hand-offs to them, by the name of the tool.
    """

    required_tools: tuple[ToolPattern, ...] = Field(
        (), description="Tools that must be called at least once.", examples=[["get_weather"]]
    )
    optional_tools: tuple[ToolPattern, ...] = Field(
        (), description="Tools that may be called. They matter where `only_listed` forbids the others."
    )
    prohibited_tools: tuple[ToolPattern, ...] = Field(
        (), description="Tools that must never be called.", examples=[["delete_order", "mcp__shop__delete_*"]]
    )
    tool_call_criteria: tuple[ToolCallCriterion, ...] = Field(
        (), description="Assertions about the calls of a tool."
    )
    only_listed: bool = Field(
        False,
        strict=True,
        description="No tool may be called but those of `required_tools`, `optional_tools` and "
        "`tool_call_criteria`.",
    )
    count_failed_calls: bool = Field(
        False, strict=True, description="A call that ended in an error counts as a use of the tool."
    )

    @field_validator("prohibited_tools")
    @classmethod
    def _not_both(cls, prohibited: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        allowed = {kind: info.data.get(f"{kind}_tools", ()) for kind in ("required", "optional")}
        complain(prohibition_complaints(prohibited, allowed))
        return prohibited


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


class ModelOverride(ScenarioPart):
    """Settings of one model for this scenario. Other keys keep their values from the settings."""

    model: Text | None = Field(None, description="The model.", examples=["openai/gpt-4o"])
    temperature: Temperature | None = Field(None, description="The temperature, from 0 to 2.")
    extra_instructions: Text | None = Field(
        None, description="Instructions that are appended to those of the settings."
    )


class ScenarioConfig(ScenarioPart):
    """Settings of the judge and of the synthetic user for this scenario."""

    judge: ModelOverride | None = Field(None, description="Settings for the judge.")
    synthetic_user: ModelOverride | None = Field(
        None, description="Settings for the model that plays the user."
    )


class Scenario(ScenarioPart):
    """One conversation and what is expected of the agent in it."""

    name: Text = Field(description="The name of the scenario.", examples=["Refund of a damaged item"])
    description: Text = Field(description="What the scenario tests. The judge reads it too.")
    skip: Annotated[bool | str, BeforeValidator(check_skip)] = Field(
        False,
        description="`true` or a reason: the scenario doesn't run and is reported as skipped.",
        examples=[True, "Waits for the new search"],
        json_schema_extra=NOT_BOOLEAN_WORD,
    )
    synthetic_user: SyntheticUser = Field(description="The simulated person who talks with the agent.")
    evaluation: Evaluation = Field(description="How the agent is judged.")
    tags: tuple[Text, ...] = Field(
        (), description="Words for selection: `pytest -m smoke`.", examples=[["smoke", "orders"]]
    )
    config: ScenarioConfig | None = Field(
        None, description="Settings of the judge and the synthetic user for this scenario only."
    )
    faults: tuple[FaultRule, ...] = Field(
        (),
        description="What goes wrong with calls of tools, to see what the agent makes of it. They come "
        "before those of the target.",
        examples=[[{"tool": "get_weather", "call": 1, "kind": "timeout"}]],
    )
    gate: GateRule | None = Field(None, description="Whether the scenario may make a run fail.")
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Your own data, for hooks, reports and the templates of HTTP targets.",
    )
