"""The judge: one call answers every criterion, and its quotes are looked up in the conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from .. import prompts
from ..errors import JudgeError, StructuredReplyError
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..scenario.models import Scenario
from ..settings.model_settings import ModelSettings
from ..start_time import in_words
from ..threads import aside
from ..transcript import Transcript
from .criteria import criteria_of
from .evidence import Located, NotFound, Sources, is_trivial
from .reply import WORDS, Answers, CriterionAnswer, answers_to
from .transcript_view import texts_by_turn, view_of
from .types import Criterion, CriterionResult


async def judge(
    llm: LLM,
    settings: ModelSettings,
    scenario: Scenario,
    transcript: Transcript,
    *,
    scenario_id: str,
    trial: int,
    redactor: TextRedactor | None = None,
) -> tuple[CriterionResult, ...]:
    """The answers to all criteria of the scenario, in their order.

    It takes one call, and a second one if a claim has no evidence. Each takes up to two more if its reply has
    the wrong shape. Raises `JudgeError` if the first reply never has the right shape, and what `llm` raises.
    """
    criteria = criteria_of(scenario.evaluation)

    def prepared() -> tuple[tuple[Message, ...], Sources]:
        return _question(settings, scenario, criteria, transcript), Sources.ready(texts_by_turn(transcript))

    messages, sources = await aside(transcript.is_large, prepared)
    request = LLMRequest(
        model=settings,
        messages=messages,
        context=CallContext(Role.JUDGE, scenario_id, trial),
        schema_name="answers",
    )
    session = _Session(llm, request, sources, redactor)
    try:
        return await session.results(criteria)
    except StructuredReplyError as error:
        raise JudgeError(str(error), reply=error.reply) from error


def _question(
    settings: ModelSettings, scenario: Scenario, criteria: Sequence[Criterion], transcript: Transcript
) -> tuple[Message, ...]:
    extra = settings.extra_instructions or ""
    system = prompts.render("judge_system", extra_instructions=extra)
    values = {
        "description": scenario.description,
        "now": in_words(transcript.now) if transcript.now else "",
        "criteria": criteria,
        "view": view_of(transcript),
    }
    return Message("system", system), Message("user", prompts.render("judge", **values))


@dataclass(frozen=True)
class _Session:
    """The calls to judge one conversation, and what can be quoted from it."""

    llm: LLM
    request: LLMRequest
    sources: Sources
    redactor: TextRedactor | None

    async def results(self, criteria: Sequence[Criterion]) -> tuple[CriterionResult, ...]:
        first = await self._ask(self.request, criteria)
        judged = self._judged(criteria, first)
        unproven = {key: value for key, value in judged.items() if isinstance(value, _Unproven)}
        if unproven:
            judged |= await self._second_round(first, unproven)
        return tuple(_settled(judged[criterion.id]) for criterion in criteria)

    async def _second_round(self, first: Answers, unproven: dict[str, _Unproven]) -> dict[str, _Judged]:
        """Ask once more, only about claims without evidence. The other answers are kept."""
        said = Message("assistant", json.dumps(first.model_dump(), ensure_ascii=False))
        again = Message("user", prompts.render("judge_evidence", unproven=tuple(unproven.values())))
        request = LLMRequest(
            model=self.request.model,
            messages=(*self.request.messages, said, again),
            context=self.request.context,
            schema_name=self.request.schema_name,
        )
        criteria = [claim.criterion for claim in unproven.values()]
        try:
            return self._judged(criteria, await self._ask(request, criteria))
        except StructuredReplyError:
            # Keep what the first reply settled; the rest stays without evidence.
            return {}

    async def _ask(self, request: LLMRequest, criteria: Sequence[Criterion]) -> Answers:
        return await ask(self.llm, request, answers_to(criteria), redactor=self.redactor)

    def _judged(self, criteria: Sequence[Criterion], answers: Answers) -> dict[str, _Judged]:
        by_id = {answer.id: answer for answer in answers.answers}
        return {criterion.id: _weigh(criterion, by_id[criterion.id], self.sources) for criterion in criteria}


@dataclass(frozen=True)
class _Unproven:
    """An answer without valid evidence, and the reason."""

    criterion: Criterion
    answer: CriterionAnswer
    why: str


_Judged = CriterionResult | _Unproven


def _weigh(criterion: Criterion, answer: CriterionAnswer, sources: Sources) -> _Judged:
    """The answer with its quote located, or the reason why it cannot count."""
    place = sources.locate(answer.quote, answer.turn)
    if isinstance(place, NotFound) and _owes_quote(answer):
        return _Unproven(criterion, answer, place.why)
    return _result(criterion, answer, place if isinstance(place, Located) else None)


def _owes_quote(answer: CriterionAnswer) -> bool:
    """Whether the answer is invalid without a valid quote.

    `met` and `triggered` say that something happened, so they must quote it, unless they are about something
    that never happens. `not_met` and `not_triggered` need no quote. But an invented quote discredits any
    answer: otherwise, claiming absence would be a way around the evidence.
    """
    if answer.verdict == "cannot_tell":
        return False
    claims = answer.verdict in {"met", "triggered"} and not answer.absence
    return claims or not is_trivial(answer.quote)


def _result(criterion: Criterion, answer: CriterionAnswer, place: Located | None) -> CriterionResult:
    return CriterionResult(
        criterion=criterion,
        answer=answer.verdict,
        holds=WORDS[criterion.kind][answer.verdict],
        finding=answer.finding.strip(),
        quote=place.quote if place else None,
        turn=place.turn if place else None,
    )


def _settled(judged: _Judged) -> CriterionResult:
    """A claim that still has no evidence after the second round becomes `cannot_tell`."""
    if isinstance(judged, CriterionResult):
        return judged
    finding = (
        f"No evidence for {judged.answer.verdict}: {judged.why}. "
        f"The judge's finding was: {judged.answer.finding.strip()}"
    )
    return CriterionResult(judged.criterion, "cannot_tell", None, finding)
