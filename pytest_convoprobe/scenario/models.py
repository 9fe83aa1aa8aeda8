"""A scenario: who talks, what is said, and how the agent is judged.

The models are the one source of the format: files are checked against them, and the JSON
Schema (`schema.py`) is made from them. Every text is stripped of the whitespace around it.
Lists become tuples; nothing can be changed after it was built.
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

from ..yaml_source.explain import UNION_TAG, complain
from .assertions import ArgumentCondition, ToolAssertion
from .fields import (
    NOT_BOOLEAN_WORD,
    Count,
    Limit,
    ScenarioPart,
    Temperature,
    Text,
    Turn,
    check_simulate,
    check_skip,
    text_or_mapping,
)
from .rules import landmark_complaints, script_complaints

__all__ = [
    "ArgumentCondition",
    "ClarificationBehavior",
    "Efficiency",
    "Evaluation",
    "Landmark",
    "ModelOverride",
    "Scenario",
    "ScenarioConfig",
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
        "medium", description="How many clarifying questions the user bears before showing it."
    )
    verbosity: Literal["concise", "medium", "verbose"] = Field(
        "concise", description="How much the user writes in an answer."
    )
    expertise: Literal["novice", "intermediate", "expert"] = Field(
        "novice", description="How well the user knows the subject and its terms."
    )


class ClarificationBehavior(ScenarioPart):
    """What the user can and can't answer when the agent asks back."""

    known_facts: tuple[Text, ...] = Field(
        (),
        description="What the user knows, and tells when asked.",
        examples=[["The order number is A-1001", "It was bought last week"]],
    )
    unknown_facts: tuple[Text, ...] = Field(
        (),
        description="What the user doesn't know, and says so when asked.",
        examples=[["The serial number"]],
    )
    traits: Traits = Field(Traits(), description="The user's patience, verbosity and expertise.")


class Landmark(ScenarioPart):
    """An instruction that the user is given for one turn, and not before it.

    Turn 1 is the initial query, whose words are fixed: a landmark there is background that the
    user knows from the start on.
    """

    turn: Turn = Field(description="From 1 (the initial query) to `max_turns`; one landmark a turn.")
    instruction: Text = Field(description="What the user is told for this turn.")


class SimulatedTurns(ScenarioPart):
    """A stretch of a script in which the synthetic user finds its own words."""

    simulate: Annotated[Turn | Literal["until_done"], BeforeValidator(check_simulate)] = Field(
        description="For how many turns the user speaks freely; `until_done`: until it has what it wants.",
        examples=[2, "until_done"],
    )
    instruction: Text | None = Field(None, description="What the user is told for these turns.")


ScriptItem = Annotated[
    Annotated[Text, Tag(f"{UNION_TAG}text")] | Annotated[SimulatedTurns, Tag(f"{UNION_TAG}mapping")],
    Discriminator(text_or_mapping),
]
"""A literal message, or a stretch of simulated turns."""


class SyntheticUser(ScenarioPart):
    """The simulated person who talks with the agent.

    `initial_query` is turn 1. The items of `script` are the turns after it, in order: a text is
    sent word for word, a mapping hands over to the simulated user. When the script is used up, the
    talk ends as if the user were done; without a script every turn after the first is simulated.
    """

    persona: Text = Field(
        description="Who the user is: the situation, the aim, the manner of speaking.",
        examples=["A customer in a hurry who bought a coffee maker that leaks"],
    )
    initial_query: Text = Field(
        description="The first message, sent as it stands.",
        examples=["My order hasn't arrived."],
    )
    max_turns: Turn = Field(
        10, description="The talk ends after so many turns; a turn is a message and the agent's reply."
    )
    clarification_behavior: ClarificationBehavior = Field(
        ClarificationBehavior(), description="How the user deals with questions that the agent asks."
    )
    script: tuple[ScriptItem, ...] = Field(
        (),
        description="What happens after the initial query: literal messages and simulated turns, in order.",
        examples=[["And the blue one?", {"simulate": 2}, {"simulate": "until_done"}]],
    )
    landmarks: tuple[Landmark, ...] = Field(
        (), description="Instructions that the user gets one turn at a time."
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
    Annotated[Text, Tag(f"{UNION_TAG}text")] | Annotated[ToolAssertion, Tag(f"{UNION_TAG}mapping")],
    Discriminator(text_or_mapping),
]
"""A sentence that the judge decides, or facts that code decides."""


class ToolCallCriterion(ScenarioPart):
    """What is asserted about the calls of one tool."""

    tool: Text = Field(description="The tool's name.", examples=["get_weather"])
    assertions: tuple[AssertionItem, ...] = Field(
        (),
        description="Sentences (decided by the judge) and mappings (decided by code); all must hold.",
        examples=[["Called with the city that the user named", {"times": 1, "args": {"unit": "celsius"}}]],
    )

    @field_validator("assertions")
    @classmethod
    def _about_another_tool(cls, assertions: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        tool = info.data.get("tool")
        complain(
            ((index, key), f"`{tool}` can't come {key} itself; name another tool")
            for index, assertion in enumerate(assertions)
            for key in ("before", "after")
            if tool is not None and getattr(assertion, key, None) == tool
        )
        return assertions


class ToolUsage(ScenarioPart):
    """Which tools the agent must, may and must not call."""

    required_tools: tuple[Text, ...] = Field((), description="Tools that must be called at least once.")
    optional_tools: tuple[Text, ...] = Field((), description="Tools that may be called; this never fails.")
    prohibited_tools: tuple[Text, ...] = Field((), description="Tools that must never be called.")
    tool_call_criteria: tuple[ToolCallCriterion, ...] = Field(
        (), description="What is asserted about the calls of a tool."
    )

    @field_validator("prohibited_tools")
    @classmethod
    def _not_both(cls, prohibited: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        complain(
            ((index,), f"`{tool}` is both prohibited and {kind}")
            for index, tool in enumerate(prohibited)
            for kind in ("required", "optional")
            if tool in info.data.get(f"{kind}_tools", ())
        )
        return prohibited


class Efficiency(ScenarioPart):
    """Limits that code counts; without a number there is no limit."""

    max_tool_calls: Count | None = Field(None, description="The most tool calls in the conversation.")
    max_llm_tokens: Limit | None = Field(
        None, description="The most tokens that the agent may use; it must be one that tells them."
    )
    max_conversation_turns: Limit | None = Field(
        None, description="The most turns; more than these fail, while `max_turns` only ends the talk."
    )


class Evaluation(ScenarioPart):
    """What the agent is judged by: it passes if all of it holds."""

    correctness_criteria: tuple[Text, ...] = Field(
        min_length=1,
        description="What the agent must do, one sentence each, decided by the judge.",
        examples=[["The agent tells the price in euros"]],
    )
    failure_criteria: tuple[Text, ...] = Field(
        (),
        description="What the agent must not do, one sentence each, decided by the judge.",
        examples=[["The agent asks for a password"]],
    )
    tool_usage: ToolUsage = Field(ToolUsage(), description="Tools that must, may or must not be called.")
    efficiency: Efficiency = Field(Efficiency(), description="Limits on tool calls, tokens and turns.")


class ModelOverride(ScenarioPart):
    """Settings of one model for this scenario; what isn't given stays as the settings say."""

    model: Text | None = Field(None, description="Another model.", examples=["openai/gpt-4o"])
    temperature: Temperature | None = Field(None, description="Another temperature, from 0 to 2.")
    extra_instructions: Text | None = Field(
        None, description="Instructions that are added to those of the settings."
    )


class ScenarioConfig(ScenarioPart):
    """Settings of the judge and of the synthetic user for this scenario."""

    judge: ModelOverride | None = Field(None, description="What is different for the judge.")
    synthetic_user: ModelOverride | None = Field(
        None, description="What is different for the model that plays the user."
    )


class Scenario(ScenarioPart):
    """One conversation and what is expected of the agent in it."""

    name: Text = Field(description="What the scenario is called.", examples=["Refund of a damaged item"])
    description: Text = Field(description="What the scenario tests; the judge reads it too.")
    skip: Annotated[bool | str, BeforeValidator(check_skip)] = Field(
        False,
        description="`true` or a reason: the scenario is not run, and reported as skipped.",
        examples=[True, "Waits for the new search"],
        json_schema_extra=NOT_BOOLEAN_WORD,
    )
    synthetic_user: SyntheticUser = Field(description="The simulated person who talks with the agent.")
    evaluation: Evaluation = Field(description="What the agent is judged by.")
    tags: tuple[Text, ...] = Field(
        (), description="Words to select scenarios by: `pytest -m smoke`.", examples=[["smoke", "orders"]]
    )
    config: ScenarioConfig | None = Field(
        None, description="Settings of the judge and the synthetic user for this scenario only."
    )
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict, description="The author's own data; nothing reads it but hooks and reports."
    )
