"""An evaluator's verdict by log-odds: is a conversation nearer to the metric's examples or to a greeting?

The metric's own examples show how far the chances of Yes move where the behaviour is present, a greeting
where it is absent. How they are asked for is in `judging/log_odds.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ... import prompts
from ...errors import ResultsError
from ...judging.log_odds import odds_of_yes
from ...llm.port import LLM, CallContext, Role
from ...settings.model_settings import ModelSettings
from ..format.models import Metric
from ..rows.messages import Said
from ..rows.transcript_of import shown
from ..rows.work import Place

PROMPT = "benchmark/evaluator_odds"

_NEEDED = "evaluation.method: log_odds needs; take another evaluator_model, or the method answer"
_OPENING = Said("user", "Hello, can you help me?")
_GREETING = Said("assistant", "Hello! What can I do for you?")
_LEAST_APART = 0.1
"""Nats between the examples and the greeting. With less, the evaluator sees no difference between the two."""


def calls_for(examples: int) -> int:
    """How many calls a verdict takes, each of one token."""
    return 2 + examples


def odds_question(conversation: Sequence[Said], definition: str, examples: Sequence[str]) -> str:
    """What the evaluator is asked. It is blind to all else because nothing else comes in here."""
    return prompts.render(PROMPT, **shown(conversation, definition, examples))


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
        question = odds_question(talk, metric.definition, metric.examples)
        context = CallContext(Role.EVALUATOR, place.id, place.sample, number)
        return await odds_of_yes(self._llm, self._model, question, context, needed_by=_NEEDED)


def _verdict(talk: float, *anchors: float) -> tuple[bool | None, str]:
    # The greeting comes last. One is enough: its chances hardly differ between metrics.
    present, absent = fmean(anchors[:-1]), anchors[-1]
    compared = f"{present:.2f} for the metric's examples and {absent:.2f} for a greeting"
    if present - absent < _LEAST_APART:
        return None, f"The evaluator can't recognise this behaviour: its log-odds of Yes are {compared}."
    return talk > (present + absent) / 2, f"The log-odds of Yes are {talk:.2f}, beside {compared}."
