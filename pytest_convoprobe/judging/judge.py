"""The judge: one call answers every criterion, and what speaks against the agent is asked a second time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import prompts
from ..errors import JudgeError, StructuredReplyError
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..scenario.models import Scenario
from ..settings.judge_settings import JudgeSettings
from ..settings.model_settings import ModelSettings
from ..start_time import in_words
from ..threads import aside
from ..transcript import Transcript
from .aspects import settle
from .by_odds import OddsVoter
from .criteria import criteria_of
from .long_texts import LongText, hidden_voices, long_texts
from .looking_up import LookUpStep
from .panel import first_reply, other_judge, panel_results
from .passages import Quotable
from .proof import Judged, Unproven, after_second_look, settled, weigh
from .questions import JudgeQuestion, Voter, statement_of
from .reply import KeyedReply, answers_to, example
from .second_vote import put_to_vote
from .transcript_view import View, view_of
from .types import Criterion, CriterionResult


async def judge(
    llm: LLM,
    settings: JudgeSettings,
    scenario: Scenario,
    transcript: Transcript,
    *,
    scenario_id: str,
    trial: int,
    redactor: TextRedactor | None = None,
    vote: bool = True,
) -> tuple[CriterionResult, ...]:
    """The answers to all criteria of the scenario, in their order.

    One call of each model, and another one for each of: what the criteria are about, where the author doesn't
    say it (once in a session); claims without evidence; a second vote on what speaks against the agent,
    unless `judge.second_vote` or `vote` is off (the latter where code has found a fault already). Where a
    text was too long to be shown whole, each vote looks up lines of it before (`looking_up`). Each takes up
    to two more if its reply has the wrong shape. Raises `JudgeError` if the first two never have the right
    shape, and what `llm` raises.
    """
    context = CallContext(Role.JUDGE, scenario_id, trial)
    criteria = await _settled_criteria(llm, settings, scenario, context, redactor)
    case = await aside(transcript.is_large, lambda: Case.of(scenario, transcript))
    questions = [statement_of(criterion) for criterion in criteria]

    def voter(member: JudgeSettings) -> Voter:
        return voter_of(llm, member, case, context, redactor)

    try:
        first = await panel_results(settings, criteria, lambda member: voter(member).answers(questions))
    except StructuredReplyError as error:
        raise JudgeError(str(error), reply=error.reply) from error
    if not (vote and settings.second_vote):
        return first
    others = _second_voters(settings, first)
    every = settings.second_vote == "all"
    return await put_to_vote(first, settings.model or "", [voter(one) for one in others], every=every)


async def _settled_criteria(
    llm: LLM,
    settings: JudgeSettings,
    scenario: Scenario,
    context: CallContext,
    redactor: TextRedactor | None,
) -> tuple[Criterion, ...]:
    by_text = settings.method == "text"
    criteria = criteria_of(scenario.evaluation)

    async def asked(member: JudgeSettings) -> tuple[Criterion, ...]:
        return await settle(
            llm,
            member,
            scenario.description,
            criteria,
            context,
            evidence=by_text,
            opposites=bool(settings.second_vote) or settings.method == "contrast",
            redactor=redactor,
        )

    return await first_reply(settings, asked)


def _second_voters(settings: JudgeSettings, first: Sequence[CriterionResult]) -> tuple[JudgeSettings, ...]:
    """Who is asked the second time. A contrast has asked from both sides already, of the same model."""
    other = other_judge(settings, first)
    if settings.method == "contrast" and other.model == settings.model:
        return ()
    return (other,)


def voter_of(
    llm: LLM, settings: JudgeSettings, case: Case, context: CallContext, redactor: TextRedactor | None
) -> Voter:
    """One model that answers by the method of its settings."""
    if settings.method == "text":
        return TextVoter(llm, settings, case, context, redactor)
    return OddsVoter(llm, settings, case.view, context, case.now, hidden_voices(case.quotable.passages))


@dataclass(frozen=True)
class Case:
    """One conversation as every voter sees it, and what can be quoted from it."""

    description: str
    now: str
    view: View
    quotable: Quotable
    long: tuple[LongText, ...] = ()
    """The texts that the view shows only in part."""

    @classmethod
    def of(cls, scenario: Scenario, transcript: Transcript) -> Case:
        """Prepare a conversation; that of a megabyte takes a good part of a second."""
        now = in_words(transcript.now) if transcript.now else ""
        quotable = Quotable.ready(transcript)
        long = long_texts(quotable.passages)
        return cls(scenario.description, now, view_of(transcript), quotable, long)


@dataclass(frozen=True)
class TextVoter:
    """A judge that answers with findings and quotes. See `Voter`."""

    llm: LLM
    settings: ModelSettings
    case: Case
    context: CallContext
    redactor: TextRedactor | None = None

    @property
    def model(self) -> str:
        return self.settings.model or ""

    async def answers(self, questions: Sequence[JudgeQuestion]) -> tuple[CriterionResult, ...]:
        """One call, and a second one if a claim has no evidence; before them, look-ups in long texts."""
        request = self._request(questions, await self._looked_up(questions) if self.case.long else "")
        first = await self._ask(request, questions)
        judged = self._judged(questions, first)
        unproven = {key: value for key, value in judged.items() if isinstance(value, Unproven)}
        if unproven:
            judged |= await self._second_look(request, first, unproven)
        return tuple(settled(judged[question.id]) for question in questions)

    async def _looked_up(self, questions: Sequence[JudgeQuestion]) -> str:
        case = self.case
        step = LookUpStep(self.llm, self.settings, self.context, case.long, self.redactor)
        return await step.found(case.view, questions, case.description, case.now)

    def _request(self, questions: Sequence[JudgeQuestion], found: str) -> LLMRequest:
        extra = self.settings.extra_instructions or ""
        values = {
            "description": self.case.description,
            "now": self.case.now,
            "view": self.case.view,
            "questions": questions,
            "example": example(questions),
        }
        system = Message("system", prompts.render("judge_system", extra_instructions=extra))
        before = prompts.render("look_up/before", found=found) + "\n\n" if found else ""
        asked = Message("user", before + prompts.render("judge", **values))
        return LLMRequest(self.settings, (system, asked), self.context, schema_name="answers")

    async def _second_look(
        self, request: LLMRequest, first: KeyedReply, unproven: dict[str, Unproven]
    ) -> dict[str, Judged]:
        """Ask once more, only about claims without evidence. The other answers are kept."""
        said = Message("assistant", json.dumps(first.model_dump(), ensure_ascii=False))
        again = Message("user", prompts.render("judge_evidence", unproven=tuple(unproven.values())))
        questions = [claim.question for claim in unproven.values()]
        try:
            reply = await self._ask(replace(request, messages=(*request.messages, said, again)), questions)
        except StructuredReplyError:
            # Keep what the first reply settled; the rest stays without evidence.
            return {}
        looked = self._judged(questions, reply)
        return {key: after_second_look(claim, looked[key]) for key, claim in unproven.items()}

    async def _ask(self, request: LLMRequest, questions: Sequence[JudgeQuestion]) -> KeyedReply:
        return await ask(self.llm, request, answers_to(questions), redactor=self.redactor)

    def _judged(self, questions: Sequence[JudgeQuestion], reply: KeyedReply) -> dict[str, Judged]:
        return {one.id: weigh(one, reply.of(one.id), self.case.quotable) for one in questions}
