"""The review of the user's side of a trial: the one place where it and the guard's question meet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..conversation.guard_question import read_message
from ..judging.review import Against, review_user
from ..judging.types import UserReview
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, Role
from ..scenario.models import SyntheticUser
from ..settings.models import ModelSettings
from ..transcript import Transcript, Turn


async def review_trial(
    llm: LLM,
    model: ModelSettings,
    user: SyntheticUser,
    transcript: Transcript,
    findings: Sequence[Against],
    context: CallContext,
    redactor: TextRedactor,
) -> UserReview:
    """Whether the user is the reason of the findings; without a proof, the agent is.

    All calls go to the judge's `model`: a stored conversation is judged again without the user's model.
    """
    asks = partial(_speaks_as_assistant, llm, model, context, transcript)
    return await review_user(
        llm, model, user, transcript, findings, context, redactor, speaks_as_assistant=asks
    )


async def _speaks_as_assistant(
    llm: LLM, model: ModelSettings, context: CallContext, transcript: Transcript, turn: Turn
) -> bool:
    asked = CallContext(Role.GUARD, context.scenario, context.trial, turn.number)
    before = transcript.turns[: turn.number - 1]
    return (await read_message(llm, model, asked, turn.user, before)).by_assistant
