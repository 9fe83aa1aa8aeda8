"""Whom a criterion is about, what it shows, and its opposite: asked once, apart from any conversation.

The judge that gives a verdict must not choose these itself: it could always choose what its evidence happens
to fit. They are not guessed from the words either, since a scenario may be in any language.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ValidationError,
    ValidationInfo,
    create_model,
)

from .. import prompts
from ..errors import JudgeError, StructuredReplyError
from ..llm.json_text import json_objects
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, LLMRequest, Message
from ..llm.structured import ask
from ..settings.model_settings import ModelSettings
from ..text import has_words, same_words
from .questions import is_settled
from .reply import KeyedReply, as_word, keyed_reply
from .types import About, Criterion, Shows

_OPPOSITE = "<a sentence that is true where the criterion is false>"
_REMEDY = (
    "Write `about`, `shows` and `opposite` beside the `text` of the criteria, and nothing has to be asked"
)


def _opposite(identifier: str, value: str, info: ValidationInfo) -> str:
    """A sentence of the model's own. Who repeats the criterion has not understood it, and is asked again."""
    said = value.strip()
    if not has_words(said) or said == _OPPOSITE:
        raise ValueError("must be a sentence that is true where the criterion is false")
    if same_words(said, _texts_in(info)[identifier]):
        raise ValueError("is the criterion itself: the opposite says the contrary")
    return said


def _opposite_or_none(identifier: str, value: str, info: ValidationInfo) -> str | None:
    return None if same_words(value, _texts_in(info)[identifier]) else _opposite(identifier, value, info)


def _texts_in(info: ValidationInfo) -> Mapping[str, str]:
    """The texts of the criteria by their ids, which `_texts` has put there."""
    texts: Mapping[str, str] = info.context or {}
    return texts


def _texts(criteria: Sequence[Criterion]) -> dict[str, str]:
    """The context of a validation."""
    return {one.id: one.text for one in criteria}


class Aspects(BaseModel):
    """What the judge says about one criterion; `opposite` is None if it only repeats the criterion."""

    about: Annotated[About, BeforeValidator(as_word)]
    shows: Annotated[Shows, BeforeValidator(as_word)]
    opposite: str | None = None


def _asked_of(criterion: Criterion) -> type[Aspects]:
    """What the model has to answer."""
    # Where the author gave an opposite, that one counts, whatever the model says.
    return _aspects_of(criterion.id, _opposite) if criterion.opposite is None else _with_any_opposite()


def _read_from(criterion: Criterion) -> type[Aspects]:
    """What counts of an answer that repeats the criterion as its opposite, after it was asked again."""
    return _aspects_of(criterion.id, _opposite_or_none)


# Making a pydantic model takes longer than the rest of our work for a call. So models are made for ids, of
# which there are few; the texts of the criteria come with each validation.
@lru_cache(maxsize=64)
def _aspects_of(identifier: str, check: Callable[[str, str, ValidationInfo], str | None]) -> type[Aspects]:
    opposite = Annotated[str, AfterValidator(partial(check, identifier))]
    return create_model("Aspects", __base__=Aspects, opposite=(opposite, ...))


@lru_cache(maxsize=1)
def _with_any_opposite() -> type[Aspects]:
    return create_model("Aspects", __base__=Aspects, opposite=(str, ...))


async def settle(
    llm: LLM,
    model: ModelSettings,
    description: str,
    criteria: Sequence[Criterion],
    context: CallContext,
    *,
    evidence: bool = True,
    opposites: bool = True,
    redactor: TextRedactor | None = None,
) -> tuple[Criterion, ...]:
    """The criteria with all that a verdict on them takes; what the author wrote stays.

    One call for those that lack something, none if there are none. Equal calls of a session are made once.
    Without `evidence`, `about` and `shows` are not missed, without `opposites` an opposite is not. Raises
    `JudgeError` if there is no usable answer: to guess whom a criterion is about could let anybody's words
    prove it. Small models repeat a criterion as its opposite, and again when they are asked again: then it
    has none. Where no evidence is owed, the criteria stay as they are: a judge by log-odds is taken because
    its model can't write such answers.
    """
    open_ones = [one for one in criteria if not is_settled(one, evidence=evidence, opposite=opposites)]
    if not open_ones:
        return tuple(criteria)
    request = LLMRequest(
        model, _messages(description, open_ones), context, schema_name="criteria", shared=True
    )
    reply_type = keyed_reply("AspectsReply", tuple((one.id, _asked_of(one)) for one in open_ones))
    try:
        reply = await ask(llm, request, reply_type, redactor=redactor, validation=_texts(open_ones))
    except StructuredReplyError as error:
        if not evidence:
            return tuple(criteria)
        without = _without_opposites(error.reply, open_ones)
        if without is None:
            message = f"What the criteria are about is not known. {error}. {_REMEDY}"
            raise JudgeError(message, reply=error.reply) from error
        reply = without
    asked = {one.id for one in open_ones}
    return tuple(_with(one, reply) if one.id in asked else one for one in criteria)


def _without_opposites(text: str, criteria: Sequence[Criterion]) -> KeyedReply | None:
    """The last reply, if all that is wrong with it are repeated criteria; else None."""
    reply_type = keyed_reply("AspectsReply", tuple((one.id, _read_from(one)) for one in criteria))
    for candidate in json_objects(text):
        with contextlib.suppress(ValidationError):
            return reply_type.model_validate(candidate, context=_texts(criteria))
    return None


def _messages(description: str, criteria: Sequence[Criterion]) -> tuple[Message, ...]:
    form: dict[str, Any] = {"about": "<agent, user, tool or any>", "shows": "<presence or absence>"}
    example = {one.id: {**form, "opposite": _OPPOSITE} for one in criteria}
    values = {"description": description, "criteria": criteria, "example": json.dumps(example)}
    system = Message("system", prompts.render("judge_aspects_system"))
    return system, Message("user", prompts.render("judge_aspects", **values))


def _with(criterion: Criterion, reply: KeyedReply) -> Criterion:
    said: Aspects = reply.of(criterion.id)
    return replace(
        criterion,
        about=criterion.about or said.about,
        shows=criterion.shows or said.shows,
        opposite=criterion.opposite or said.opposite,
    )
