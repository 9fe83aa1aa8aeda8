"""A second opinion for the review of the user's side: the one place where it meets the guard's question."""

from __future__ import annotations

from collections.abc import Sequence

from ..conversation.guard_question import read_message
from ..judging.review import Against, SpeaksAsAssistant, review_user
from ..judging.types import UserReview
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, Role
from ..scenario.models import SyntheticUser
from ..settings.model_settings import ModelSettings
from ..transcript import Transcript, Turn


async def reviewed(
    llm: LLM,
    model: ModelSettings,
    user: SyntheticUser,
    transcript: Transcript,
    findings: Sequence[Against],
    context: CallContext,
    redactor: TextRedactor,
) -> UserReview:
    """The review of the user's side, with the second opinion that it may ask for."""
    opinion = second_opinion(llm, model, transcript, context)
    return await review_user(
        llm, model, user, transcript, findings, context, redactor, speaks_as_assistant=opinion
    )


def second_opinion(
    llm: LLM, model: ModelSettings, transcript: Transcript, context: CallContext
) -> SpeaksAsAssistant:
    """Ask the guard's question about a message of the user, without what the review knows.

    It goes to the judge's `model`: a stored conversation is judged again without the user's model.
    """

    async def speaks_as_assistant(turn: Turn) -> bool:
        asked = CallContext(Role.GUARD, context.scenario, context.trial, turn.number)
        before = tuple(one for one in transcript.turns if one.number < turn.number)
        return (await read_message(llm, model, asked, turn.user, before)).by_assistant

    return speaks_as_assistant
