"""A second control in a model's words. Code looks whether it says the same, as far as code can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel

from .. import prompts
from ..errors import ConvoprobeError
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..text import is_blank
from ..transcript import Transcript
from .numbers import numbers_in
from .probing import Talk
from .types import Mutant, MutantKind

_QUESTION_MARKS = frozenset("?\uff1f\u061f\u037e")


class _Paraphrases(BaseModel):
    replies: list[str]


async def with_paraphrases(llm: LLM, talks: Sequence[Talk]) -> tuple[list[Talk], list[str]]:
    """The talks with a control more where a model could word it, and why not of the others.

    One call for each talk, to the model of its judge.
    """
    found = await asyncio.gather(*(_paraphrase(llm, talk) for talk in talks))
    made = [
        talk if isinstance(one, str) else replace(talk, mutants=(*talk.mutants, one))
        for talk, one in zip(talks, found, strict=True)
    ]
    return made, [one for one in found if isinstance(one, str) and one]


async def _paraphrase(llm: LLM, talk: Talk) -> Mutant | str:
    """The control, or why there is none; an empty text where none was wanted."""
    if talk.settings is None or not talk.held_ids:
        return ""
    replies = [turn.reply.text for turn in talk.result.transcript.turns if not is_blank(turn.reply.text)]
    text = prompts.render(
        "mutants/paraphrase", replies=json.dumps(replies, ensure_ascii=False, indent=1), count=len(replies)
    )
    context = CallContext(Role.JUDGE, talk.row.scenario_id, talk.row.trial)
    request = LLMRequest(talk.settings.judge, (Message("user", text),), context, schema_name="replies")
    try:
        said = (await ask(llm, request, _Paraphrases)).replies
    except ConvoprobeError as error:
        return f"{talk.row.scenario_id}: no paraphrase: {error}"
    if len(said) != len(replies) or not all(map(_says_the_same, replies, said)):
        return f"{talk.row.scenario_id}: the model's paraphrase does not say the same, so it isn't used"
    return _control(talk, said)


def _says_the_same(before: str, after: str) -> bool:
    """Whether the numbers and the questions are the same: the words are the model's to choose."""
    asks = [bool(_QUESTION_MARKS.intersection(text)) for text in (before, after)]
    return not is_blank(after) and numbers_in(before) == numbers_in(after) and asks[0] == asks[1]


def _control(talk: Talk, said: Sequence[str]) -> Mutant:
    words = iter(said)
    transcript: Transcript = talk.result.transcript
    turns = tuple(
        turn if is_blank(turn.reply.text) else replace(turn, reply=replace(turn.reply, text=next(words)))
        for turn in transcript.turns
    )
    number = next(turn.number for turn in turns if not is_blank(turn.reply.text))
    return Mutant(
        MutantKind.PARAPHRASE,
        replace(transcript, turns=turns),
        (),
        "a model says the same in other words",
        said[0],
        number,
        must_hold=talk.held_ids,
    )
