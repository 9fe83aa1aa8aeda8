"""What a model says of a scenario. One call each; nothing of it is taken for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from pydantic import BaseModel

from .. import prompts
from ..errors import ConvoprobeError
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..settings.model_settings import ModelSettings
from ..text import one_line, shorten
from ..yaml_source import Loc
from .finding import Fault, Level, LintFinding
from .linting import finding_of
from .rules import OPINION
from .subject import Subject

_MOST = 8
_LONGEST = 300


async def opinions(
    llm: LLM, asked: Sequence[tuple[Subject, ModelSettings]], ignore: Collection[str] = ()
) -> tuple[list[LintFinding], list[str]]:
    """What a model finds in scenarios, all at once, and what kept it from saying something, in words.

    A scenario comes with the settings of the model that is asked, which are those of its judge.
    """
    found: list[LintFinding] = []
    problems: dict[str, None] = {}
    answers = await asyncio.gather(*(_opinion(llm, *one) for one in asked), return_exceptions=True)
    for (subject, _), answer in zip(asked, answers, strict=True):
        if isinstance(answer, ConvoprobeError):
            problems[f"{subject.id}: {answer}"] = None
        elif isinstance(answer, BaseException):
            raise answer
        else:
            each = (finding_of(subject, OPINION, Level.WARNING, fault, ignore) for fault in answer)
            found += [one for one in each if one is not None]
    return found, list(problems)


async def _opinion(llm: LLM, subject: Subject, model: ModelSettings) -> list[Fault]:
    """Raises what `ask` raises."""
    scenario = subject.scenario
    ids = [sentence.criterion.id for sentence in subject.sentences]
    text = prompts.render(
        "lint/opinion",
        description=scenario.description,
        user=scenario.synthetic_user,
        criteria=[sentence.criterion for sentence in subject.sentences],
        ids=ids,
    )
    request = LLMRequest(
        model, (Message("user", text),), CallContext(Role.JUDGE, subject.id), schema_name="faults"
    )
    answer = await ask(llm, request, _Answer)
    # An id that the scenario doesn't have is no reason to lose the words.
    places: dict[str | None, Loc] = {sentence.criterion.id: sentence.loc for sentence in subject.sentences}
    return [
        Fault(
            places.get(one.criterion, ("synthetic_user",) if one.criterion is None else ("evaluation",)),
            shorten(one_line(f"{one.criterion}: {one.problem}" if one.criterion else one.problem), _LONGEST),
            shorten(one_line(one.advice), _LONGEST) or "Look at it again.",
        )
        for one in answer.faults[:_MOST]
        if one.problem.strip()
    ]


class _Said(BaseModel):
    problem: str
    advice: str = ""
    criterion: str | None = None


class _Answer(BaseModel):
    faults: list[_Said]
