"""What a model says of the tools. A call for all of them, or more if they are many; none of it is certain."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ConvoprobeError
from ..judging.tool_advice import by_severity, parts, review_suggestions
from ..judging.types import Suggestion
from ..llm.port import LLM, CallContext, Role, ToolSpec
from ..settings.model_settings import ModelSettings


@dataclass(frozen=True)
class Opinion:
    """What a model suggests, notes on what was left out, and what kept it from answering, in words."""

    suggestions: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


async def opinion_on(llm: LLM, model: ModelSettings, tools: Sequence[ToolSpec]) -> Opinion:
    """What the model says of these tools, all calls at once."""
    context = CallContext(Role.JUDGE, "tools")
    asked = [review_suggestions(llm, model, part, context) for part in parts(tools)]
    found: list[Suggestion] = []
    notes: dict[str, None] = {}
    problems: dict[str, None] = {}
    for answer in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(answer, ConvoprobeError):
            problems[str(answer)] = None
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found += answer.found
            notes |= {answer.note: None} if answer.note else {}
    return Opinion(tuple(by_severity(found)), tuple(notes), tuple(problems))
