"""The judge looks up lines of texts that its view shows only in part, before it answers.

A step of its own, in a few calls at most, and only where something was cut. Lines with words of the criteria
are looked up before the judge is asked. All that was found is put before the conversation in the judge's
request. It is evidence like the rest: quotes are looked up in the whole texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel, Field

from .. import prompts
from ..errors import ReplayMiss, StructuredReplyError
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, LLMRequest, Message
from ..llm.structured import ask
from ..settings.model_settings import ModelSettings
from ..text import shorten, visible
from ..threads import aside
from .long_texts import MOST_SHOWN, Excerpt, LongText, lines_from, lines_with
from .questions import JudgeQuestion
from .transcript_view import View, fenced

MOST_LOOK_UPS = 4
"""The most look-ups of one call."""
MOST_CALLS = 3
"""The most calls for look-ups before one answer of the judge."""
_MOST_OF_CODE = 8
_LONGEST_WORDS = 200


class LookUp(BaseModel):
    """What the judge wants to see of a text: lines with words, or lines from a number on."""

    text: int
    words: str | None = None
    line: int | None = None


class LookUps(BaseModel):
    """The reply; an empty list says that nothing more is needed."""

    look_up: list[LookUp] = Field(default_factory=list)


@dataclass(frozen=True)
class LookedUp:
    """What a look-up gave; `heading` says in our words what was looked up."""

    heading: str
    excerpts: tuple[Excerpt, ...] = ()


@dataclass(frozen=True)
class LookUpStep:
    """Looks up lines of `texts` for the questions about one conversation."""

    llm: LLM
    model: ModelSettings
    context: CallContext
    texts: tuple[LongText, ...]
    redactor: TextRedactor | None = None

    async def found(self, view: View, questions: Sequence[JudgeQuestion], description: str, now: str) -> str:
        """The fenced lines for the judge's request; empty if nothing was looked up."""
        # Code looks first, for nothing: small models ask for words that are in every line, or for none.
        found = await aside(True, lambda: list(_with_words_of(self.texts, questions)))
        request = self._request(view, questions, description, now, _shown(found))
        try:
            wanted = await self._wanted(request)
        except ReplayMiss:
            # Earlier releases recorded judges without this step. If the answer is missing too, that is said.
            return ""
        for _ in range(MOST_CALLS - 1):
            if not wanted:
                return _shown(found)
            new = await aside(True, partial(_look_up_all, self.texts, wanted))
            found += new
            request = _with_results(request, wanted, new)
            wanted = await self._wanted(request)
        return _shown([*found, *await aside(True, partial(_look_up_all, self.texts, wanted))])

    def _request(
        self, view: View, questions: Sequence[JudgeQuestion], description: str, now: str, found: str
    ) -> LLMRequest:
        values = {"description": description, "now": now, "view": view, "questions": questions}
        system = prompts.render(
            "look_up/system", most=MOST_LOOK_UPS, extra_instructions=self.model.extra_instructions or ""
        )
        asked = prompts.render("look_up/ask", texts=self.texts, found=found, **values)
        messages = (Message("system", system), Message("user", asked))
        return LLMRequest(self.model, messages, self.context, schema_name="look_ups")

    async def _wanted(self, request: LLMRequest) -> list[LookUp]:
        try:
            reply = await ask(self.llm, request, LookUps, redactor=self.redactor)
        except StructuredReplyError:
            # The judge still has what its view shows, as it had before it could look anything up.
            return []
        return reply.look_up[:MOST_LOOK_UPS]


def _with_words_of(texts: Sequence[LongText], questions: Sequence[JudgeQuestion]) -> Iterator[LookedUp]:
    """Lines that have words of the criteria: a few for each, as far as there is room."""
    pairs = [(question, text) for question in questions for text in texts]
    for question, text in pairs[:_MOST_OF_CODE]:
        excerpts, _ = lines_with(text, question.text, MOST_SHOWN // 2, rare=True)
        if excerpts:
            yield LookedUp(f"{_name(text)}, lines with words of {question.id}:", excerpts)


def _look_up_all(texts: Sequence[LongText], wanted: Sequence[LookUp]) -> list[LookedUp]:
    return [_look_up(texts, one) for one in wanted]


def _name(text: LongText) -> str:
    return f"Text {text.number} ({text.what}, turn {text.turn})"


def _look_up(texts: Sequence[LongText], wanted: LookUp) -> LookedUp:
    text = next((one for one in texts if one.number == wanted.text), None)
    if text is None:
        return LookedUp(f"There is no text {wanted.text}.")
    name = _name(text)
    words = shorten(" ".join((wanted.words or "").split()), _LONGEST_WORDS)
    if words:
        excerpts, lines = lines_with(text, words)
        which = (
            f"{lines} of its {len(text.lines)} lines have some of these words" if lines else "no line has any"
        )
        return LookedUp(f'{name}, words "{visible(words)}": {which}.', excerpts)
    excerpt = lines_from(text, wanted.line or 1)
    return LookedUp(f"{name}, from line {excerpt.first}:", (excerpt,))


def _with_results(request: LLMRequest, wanted: Sequence[LookUp], found: Sequence[LookedUp]) -> LLMRequest:
    said = json.dumps({"look_up": [one.model_dump() for one in wanted]}, ensure_ascii=False)
    results = prompts.render("look_up/results", found=_shown(found))
    return replace(
        request, messages=(*request.messages, Message("assistant", said), Message("user", results))
    )


def _shown(found: Sequence[LookedUp]) -> str:
    """Headings of ours, and lines of theirs behind `| `, between two fence lines; empty without any."""
    if not found:
        return ""
    body = prompts.render("look_up/found", found=found)
    return fenced(body, "excerpts").text
