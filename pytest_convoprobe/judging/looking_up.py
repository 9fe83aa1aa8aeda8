"""The judge looks up lines of texts that its view shows only in part, before it answers.

A step of its own, in a few calls at most, and only where something was cut. What was found is put before the
conversation in the judge's request. It is evidence like the rest: quotes are looked up in the whole texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from .. import prompts
from ..errors import ReplayMiss, StructuredReplyError
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, LLMRequest, Message
from ..llm.structured import ask
from ..settings.model_settings import ModelSettings
from ..text import shorten, visible
from ..threads import aside
from .long_texts import Excerpt, LongText, lines_from, lines_with
from .questions import JudgeQuestion
from .transcript_view import View, fenced

MOST_LOOK_UPS = 4
"""The most look-ups of one call."""
MOST_CALLS = 3
"""The most calls for look-ups before one answer of the judge."""
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
class Found:
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
        found: list[Found] = []
        request = self._request(view, questions, description, now)
        for left in range(MOST_CALLS - 1, -1, -1):
            wanted = await self._wanted(request, first=not found)
            new = await aside(True, lambda: [_look_up(self.texts, one) for one in wanted])  # noqa: B023
            found += new
            if not new or not left:
                break
            request = _with_results(request, wanted, new)
        return _shown(found) if found else ""

    def _request(
        self, view: View, questions: Sequence[JudgeQuestion], description: str, now: str
    ) -> LLMRequest:
        values = {"description": description, "now": now, "view": view, "questions": questions}
        system = prompts.render(
            "look_up/system", most=MOST_LOOK_UPS, extra_instructions=self.model.extra_instructions or ""
        )
        asked = prompts.render("look_up/ask", texts=self.texts, **values)
        messages = (Message("system", system), Message("user", asked))
        return LLMRequest(self.model, messages, self.context, schema_name="look_ups")

    async def _wanted(self, request: LLMRequest, *, first: bool) -> list[LookUp]:
        try:
            reply = await ask(self.llm, request, LookUps, redactor=self.redactor)
        except StructuredReplyError:
            # The judge still has what its view shows, as it had before it could look anything up.
            return []
        except ReplayMiss:
            if not first:
                raise
            # Earlier releases recorded judges without this step. If the answer is missing too, that is said.
            return []
        return reply.look_up[:MOST_LOOK_UPS]


def _look_up(texts: Sequence[LongText], wanted: LookUp) -> Found:
    text = next((one for one in texts if one.number == wanted.text), None)
    if text is None:
        return Found(f"There is no text {wanted.text}.")
    name = f"Text {text.number} ({text.what}, turn {text.turn})"
    words = shorten(" ".join((wanted.words or "").split()), _LONGEST_WORDS)
    if words:
        excerpts, lines = lines_with(text, words)
        which = (
            f"{lines} of its {len(text.lines)} lines have some of these words" if lines else "no line has any"
        )
        return Found(f'{name}, words "{visible(words)}": {which}.', excerpts)
    excerpt = lines_from(text, wanted.line or 1)
    return Found(f"{name}, from line {excerpt.first}:", (excerpt,))


def _with_results(request: LLMRequest, wanted: Sequence[LookUp], found: Sequence[Found]) -> LLMRequest:
    said = json.dumps({"look_up": [one.model_dump() for one in wanted]}, ensure_ascii=False)
    results = prompts.render("look_up/results", found=_shown(found))
    return replace(
        request, messages=(*request.messages, Message("assistant", said), Message("user", results))
    )


def _shown(found: Sequence[Found]) -> str:
    """Headings of ours, and lines of theirs behind `| `, between two fence lines."""
    body = prompts.render("look_up/found", found=found)
    return fenced(body, "excerpts").text
