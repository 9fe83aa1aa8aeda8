"""The guard's question to a model: who would write this message, and is it a goodbye?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, Field

from .. import prompts
from ..errors import SimulatorError, StructuredReplyError
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..settings.model_settings import ModelSettings
from ..text import shorten
from ..transcript import Turn, with_user

_SHOWN = 2_000


class MessageReading(BaseModel):
    """What a model reads in a message of the synthetic user, in whatever language that is."""

    by_assistant: bool = Field(description="Only the assistant's side, or who plays a person, would say it.")
    takes_leave: bool = Field(description="The new message only says goodbye or thanks.")
    took_leave_before: bool = Field(description="So did the person's message before it.")


async def read_message(
    llm: LLM, model: ModelSettings, context: CallContext, text: str, turns: Sequence[Turn]
) -> MessageReading:
    """One call of the role `guard`: to the model that plays the user, or, in a review, to the judge's.

    Raises `SimulatorError` if the model gives no usable answer: nobody then knows whose message it is, so it
    must not count for or against the agent.
    """
    request = LLMRequest(
        model,
        (Message("system", prompts.render("guard_question")), Message("user", _messages(text, turns))),
        replace(context, role=Role.GUARD),
        schema_name="message_reading",
    )
    try:
        return await ask(llm, request, MessageReading)
    except StructuredReplyError as error:
        raise SimulatorError(f"turn {context.turn}: {error}") from error


def _messages(text: str, turns: Sequence[Turn]) -> str:
    """As JSON strings: none of them can look like another one, or like our words."""
    before = with_user(turns)
    return prompts.render(
        "guard_messages",
        first=_quoted(before[0].user if before else text),
        before=_quoted(before[-1].user) if before else None,
        reply=_quoted(turns[-1].reply.text if turns else ""),
        message=_quoted(text),
    )


def _quoted(text: str) -> str:
    return json.dumps(shorten(text.strip(), _SHOWN), ensure_ascii=False)
