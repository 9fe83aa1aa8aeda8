"""A labels file: conversations, and for each criterion whether it is true of the conversation.

These models define the format. Files are validated against them, and the JSON Schema is made from them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from ..judging.types import About, Shows
from ..scenario.fields import Limit, ScenarioPart, Sentence, Text
from ..start_time import read_time
from ..yaml_source.explain import complain, describe, refusal

# What was said is kept as it is: an agent's empty reply is a case that a judge should know.
Said = Annotated[str, Field(strict=True)]


def check_time(value: Any) -> Any:
    """When a conversation began; None where nobody says it."""
    if value is None:
        return None
    try:
        return read_time(value)
    except ValueError as error:
        raise refusal(f"{error}, got {describe(value)}") from None


class LabelledCall(ScenarioPart):
    """A call of a tool by the agent."""

    name: Text = Field(description="The tool's name.")
    arguments: dict[str, JsonValue] = Field(default_factory=dict, description="The arguments of the call.")
    result: JsonValue = Field(None, description="What the tool returned.")
    error: Said | None = Field(None, description="The error in which the call ended.")
    executed: bool = Field(True, strict=True, description="False for a call that was never carried out.")


class LabelledTurn(ScenarioPart):
    """One message of the user and the agent's reply to it."""

    user: Said = Field(description="What the user said.")
    agent: Said = Field(description="What the agent replied. It may be empty.")
    calls: tuple[LabelledCall, ...] | None = Field(
        (), description="The agent's calls of tools. `null` if the agent doesn't report them."
    )


class StoredConversation(ScenarioPart):
    """A conversation of a stored run, in place of `turns`."""

    run: Text = Field(description="The id of the run.")
    scenario: Text = Field(description="The id of the scenario in that run.")
    trial: Limit = Field(1, description="The number of the trial.")


class LabelledCriterion(ScenarioPart):
    """A criterion and the truth about it."""

    type: Literal["correctness", "failure", "tool"] = Field(
        "correctness",
        description="`correctness` is what the agent must do, `failure` what it must not do, `tool` an "
        "assertion about the calls of `tool`.",
    )
    text: Sentence = Field(description="The criterion, as in a scenario.")
    truth: bool = Field(
        strict=True, description="Whether the sentence is true of this conversation, whatever its type."
    )
    tool: Text | None = Field(None, description="The tool that a criterion of type `tool` is about.")
    about: About | None = Field(None, description="Whose words or deeds the criterion is about.")
    shows: Shows | None = Field(
        None, description="Whether it is about something that happens, or about something that doesn't."
    )
    opposite: Sentence | None = Field(None, description="A sentence that is true where `text` is not.")

    @property
    def holds(self) -> bool:
        """Whether the truth speaks for the agent: what it must not do is in its favour if it isn't true."""
        return self.truth is (self.type != "failure")

    @model_validator(mode="after")
    def _tool_named(self) -> LabelledCriterion:
        if self.type == "tool" and self.tool is None:
            complain([(("type",), "a criterion of type `tool` needs `tool`, the name of the tool")])
        if self.type != "tool" and self.tool is not None:
            complain([(("tool",), f"`tool` is for criteria of type `tool`, and this one is `{self.type}`")])
        return self


class LabelledConversation(ScenarioPart):
    """One conversation with the truth about its criteria. Each YAML document, or line of JSON, is one."""

    id: Text = Field(description="A name that is unique in the file.", examples=["refund-promised-not-made"])
    kind: Text | None = Field(
        None,
        description="What is difficult about it, in a word of your own.",
        examples=["claim-without-deed"],
    )
    description: Text | None = Field(None, description="What was tested. The judge reads it.")
    now: Annotated[datetime | None, BeforeValidator(check_time)] = Field(
        None, description="When the conversation began, with the zone."
    )
    turns: Annotated[tuple[LabelledTurn, ...], Field(min_length=1)] | None = Field(
        None, description="What was said and done."
    )
    stored: StoredConversation | None = Field(
        None, description="A conversation of a stored run, in place of `turns`."
    )
    criteria: tuple[LabelledCriterion, ...] = Field(
        min_length=1, description="The criteria and the truth about each."
    )
    metadata: dict[str, JsonValue] = Field(default_factory=dict, description="Your own data.")

    @model_validator(mode="after")
    def _one_conversation(self) -> LabelledConversation:
        if self.turns is None and self.stored is None:
            complain(
                [((), "there is no conversation: `turns` is missing (or `stored`, one of a stored run)")]
            )
        if self.turns is not None and self.stored is not None:
            complain([(("stored",), "give `turns` or `stored`, not both")])
        return self
