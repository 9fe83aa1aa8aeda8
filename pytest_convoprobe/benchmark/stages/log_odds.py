"""An evaluator's verdict by log-odds: how much likelier it would begin its answer with Yes than with No.

Small models lean to one answer whatever they read, and give reasons for it. How far the chances move is
still informative: the metric's own examples show how far they move where the behaviour is present, a greeting
where it is absent, and the conversation is as the nearer of the two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from ... import prompts
from ...errors import NoTokenChances, ResultsError
from ...llm.port import LLM, CallContext, LLMRequest, Message, Role
from ...settings.model_settings import ModelSettings
from ..format.models import Metric
from ..rows.messages import Said
from ..rows.transcript_of import shown
from ..rows.work import Place

PROMPT = "benchmark/evaluator_odds"

# The most that OpenAI's interface gives.
_TOP_TOKENS = 20
_OPENING = Said("user", "Hello, can you help me?")
_GREETING = Said("assistant", "Hello! What can I do for you?")
_LEAST_CHANCE = -10.0
"""What is less likely than e to this power hardly ever happens, and some providers put -9999 for it."""

_LEAST_APART = 0.1
"""Nats between the examples and the greeting. With less, the evaluator sees no difference between the two."""


def calls_for(examples: int) -> int:
    """How many calls a verdict takes, each of one token."""
    return 2 + examples


def odds_messages(
    conversation: Sequence[Said], definition: str, examples: Sequence[str]
) -> tuple[Message, ...]:
    """What the evaluator is asked. It is blind to all else because nothing else comes in here."""
    return (Message("user", prompts.render(PROMPT, **shown(conversation, definition, examples))),)


class LogOdds:
    """Evaluates one conversation at a time with the model that is given.

    Every verdict is measured whole, with its examples and the greeting, so that each row is independent.
    """

    def __init__(self, llm: LLM, model: ModelSettings) -> None:
        self._llm = llm
        self._model = model

    async def presence(
        self, conversation: Sequence[Said], metric: Metric, place: Place
    ) -> tuple[bool | None, str]:
        """Whether the behaviour is present, None if this evaluator can't decide, and why.

        Raises `ResultsError` for a metric without examples, `NoTokenChances`, and what `llm` raises.
        """
        if not metric.examples:
            raise ResultsError(
                f"{metric.id} has no examples, and evaluation.method: log_odds compares with these; write "
                "three or more, or run `convoprobe bench gen-metrics`"
            )
        talks = [conversation, *((_OPENING, Said("assistant", one)) for one in metric.examples)]
        odds = [
            await self._odds(talk, metric, place, number)
            for number, talk in enumerate([*talks, (_OPENING, _GREETING)])
        ]
        if None in odds:
            return None, "The evaluator would answer neither Yes nor No."
        return _verdict(*(one for one in odds if one is not None))

    async def _odds(self, talk: Sequence[Said], metric: Metric, place: Place, number: int) -> float | None:
        """`number` counts the calls of one verdict; it is part of the recording's key."""
        messages = odds_messages(talk, metric.definition, metric.examples)
        if self._model.extra_instructions:
            messages = (Message("system", self._model.extra_instructions), *messages)
        context = CallContext(Role.EVALUATOR, place.id, place.sample, number)
        # One token: only the first word's chances count, and small models would go on for long.
        request = LLMRequest(self._model, messages, context, max_tokens=1, top_tokens=_TOP_TOKENS)
        reply = await self._llm.complete(request)
        if not reply.top_tokens:
            raise NoTokenChances(
                f"{self._model.model} doesn't report how likely its words are (logprobs), which "
                "evaluation.method: log_odds needs; take another evaluator_model, or the method answer",
                model=self._model.model or "",
            )
        return log_odds(reply.top_tokens)


def log_odds(top_tokens: Mapping[str, float]) -> float | None:
    """By how much ln P(Yes) exceeds ln P(No), each summed over its spellings;
    None if neither is among the tokens.

    A missing word counts as at most as likely as the least likely token listed, and at most as likely as all
    unlisted tokens together.
    """
    chances = {token: max(chance, _LEAST_CHANCE) for token, chance in top_tokens.items()}
    found = [_sum(chances, word) for word in ("yes", "no")]
    if found == [None, None]:
        return None
    there = [math.exp(chance) for chance in chances.values()]
    least = min(*there, max(1 - sum(there), math.exp(_LEAST_CHANCE)))
    yes, no = (least if one is None else one for one in found)
    return math.log(yes) - math.log(no)


def _sum(chances: Mapping[str, float], word: str) -> float | None:
    """The probability of a word in all its spellings; None if it isn't there."""
    found = [math.exp(chance) for token, chance in chances.items() if _word(token) == word]
    return sum(found) if found else None


def _word(token: str) -> str:
    """Without what tokenizers write for a space."""
    return token.strip(" \n\u2581\u0120").lower()


def _verdict(talk: float, *anchors: float) -> tuple[bool | None, str]:
    # The greeting comes last. One is enough: its chances hardly differ between metrics.
    present, absent = fmean(anchors[:-1]), anchors[-1]
    compared = f"{present:.2f} for the metric's examples and {absent:.2f} for a greeting"
    if present - absent < _LEAST_APART:
        return None, f"The evaluator can't recognise this behaviour: its log-odds of Yes are {compared}."
    return talk > (present + absent) / 2, f"The log-odds of Yes are {talk:.2f}, beside {compared}."
