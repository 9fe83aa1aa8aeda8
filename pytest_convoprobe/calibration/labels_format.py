"""A labels file: conversations, and for each criterion whether it is true of the conversation.

These models define the format. Files are validated against them, and the JSON Schema is made from them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ..judging.types import About, Shows
from ..scenario.earlier_messages import History
from ..scenario.fields import Limit, ScenarioPart, Sentence, Text
from ..start_time import read_time
from ..yaml_source.explain import MISSING, complain, describe, refusal

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


class _Grown(ScenarioPart):
    """A part of the format that has got more keys since files were first measured."""

    _later: ClassVar[tuple[str, ...]] = ()

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The digest of a file is of what is written here: what a file doesn't use must not change it.
        unused = {key for key in self._later if getattr(self, key) == type(self).model_fields[key].default}
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if key not in unused}


class LabelledCall(_Grown):
    """A call of a tool by the agent."""

    _later = ("id", "parent", "agent", "group", "kind", "fault")

    name: Text = Field(description="The tool's name.")
    arguments: dict[str, JsonValue] = Field(default_factory=dict, description="The arguments of the call.")
    result: JsonValue = Field(None, description="What the tool returned.")
    error: Said | None = Field(None, description="The error in which the call ended.")
    executed: bool = Field(True, strict=True, description="False for a call that was never carried out.")
    id: str = Field("", description="The call's own id.")
    parent: str = Field("", description="The id of the call inside which it was made.")
    agent: str = Field("", description="The name of the agent that called.")
    group: str = Field("", description="The same for calls that were asked for together.")
    kind: Literal["tool", "handoff", "sub_agent"] = Field("tool", description="What was called.")
    fault: str = Field("", description="The fault that was injected, in words.")


class LabelledRequest(ScenarioPart):
    """Something for which the agent waited for a person within the turn."""

    id: str = Field("", description="Its id.")
    kind: Literal["approval", "question"] = Field("approval", description="A permission, or a question.")
    answer: str | None = Field(None, description="`approve`, `reject`, or words; `null` without an answer.")
    text: Said = Field("", description="What the agent asked.")
    tool: str = Field("", description="The tool whose call waited.")
    arguments: dict[str, JsonValue] = Field(default_factory=dict, description="The arguments of the call.")
    choices: tuple[str, ...] = Field((), description="The answers that were offered.")
    reason: Said = Field("", description="The reason that was given.")
    after: int = Field(0, strict=True, ge=0, description="How many calls of the turn came before it.")


class LabelledTurn(_Grown):
    """One message of the user and the agent's reply to it."""

    _later = ("requests",)

    user: Said | None = Field(
        None, description="What the user said. Only the first turn may have none: the agent spoke first."
    )
    agent: Said = Field(description="What the agent replied. It may be empty.")
    calls: tuple[LabelledCall, ...] | None = Field(
        (), description="The agent's calls of tools. `null` if the agent doesn't report them."
    )
    requests: tuple[LabelledRequest, ...] = Field((), description="What the agent waited for a person for.")


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


class LabelledConversation(_Grown):
    """One conversation with the truth about its criteria. Each YAML document, or line of JSON, is one."""

    _later = ("history",)

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
    history: History = Field(
        (), description="What was said before the conversation, as in a scenario. It proves nothing."
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
        if self.history and self.stored is not None:
            complain([(("history",), "a stored conversation has its own history: leave this out")])
        complain(
            (("turns", place), f"{MISSING}: `user`. Only the first turn may have none")
            for place, turn in enumerate(self.turns or ())
            if turn.user is None and place > 0
        )
        return self
