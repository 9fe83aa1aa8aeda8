"""The simulated person of a scenario: persona, what is said, what is known."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WrapValidator,
    field_validator,
    model_validator,
)

from ..yaml_source.explain import UNION_TAG, complain
from .approvals import Approvals, ScriptedAnswer
from .earlier_messages import History
from .fields import ScenarioPart, Text, ToolPattern, Turn, check_simulate, text_or_mapping
from .rules import landmark_complaints, script_complaints


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


_NO_QUERY = object()


def _opening(value: Any, check: Any) -> Any:
    """The first message as it is checked; empty where the agent speaks first and none is given."""
    return "" if value is _NO_QUERY else check(value)


class SyntheticUser(ScenarioPart):
    """The simulated person who talks with the agent.

    `initial_query` is turn 1. The items of `script` are the turns after it, in order. A text is
    sent word for word; a mapping with `simulate` lets the model write the messages, and one with `answer`
    takes no turn: it answers what the agent waits for after the message before it. At the end of the script,
    the conversation ends as if the user were done. Without a script, every turn after the first is simulated.

    With `first: agent`, the agent's greeting comes before turn 1. Without an `initial_query`, which is empty
    then, the user answers the greeting in its own words.
    """

    persona: Text = Field(
        description="Who the user is: situation, goal, way of speaking.",
        examples=["A customer in a hurry who bought a coffee maker that leaks"],
    )
    initial_query: Annotated[Text, WrapValidator(_opening)] = Field(
        description="The first message, sent word for word. It may be left out where the agent speaks first.",
        examples=["My order hasn't arrived."],
    )
    first: Literal["user", "agent"] = Field(
        "user",
        description="Who speaks first. With `agent`, the conversation begins with the agent's greeting, "
        "which isn't counted as a turn.",
    )
    history: History = Field(
        (),
        description="What was said before the conversation, by both sides. The agent gets it where it can "
        "take it; otherwise the scenario ends in an error. It isn't evidence for or against the agent.",
        examples=[[{"user": "I want to change order A-1001."}, {"agent": "What should I change?"}]],
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

    @model_validator(mode="before")
    @classmethod
    def _greeted(cls, values: Any) -> Any:
        greeted = isinstance(values, dict) and values.get("first") == "agent"
        given = not greeted or values.get("initial_query", "") != ""
        return values if given else {**values, "initial_query": _NO_QUERY}

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
