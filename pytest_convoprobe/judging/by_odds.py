"""The judge by log-odds: what small models would say before they explain, compared with what they lean to.

`log_odds` compares the conversation with an empty one, `contrast` the criterion with its opposite. Both take
out what the model would say to anything. A reply has no room for a quote, so the finding gives the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from .. import prompts
from ..llm.port import LLM, CallContext
from ..settings.judge_settings import JudgeSettings
from ..start_time import in_words
from ..transcript import Transcript
from .log_odds import odds_of_yes
from .questions import WORDS
from .transcript_view import View, view_of
from .types import Criterion, CriterionResult

Asked = Literal["statement", "opposite"]

UNCERTAIN = 0.2
"""Nats on either side of the threshold in which nothing is decided.

The same request gives slightly different chances when a server computes it in another batch. A verdict that
turns on less than this would turn by itself.
"""

_EMPTY = view_of(Transcript(()), ending=False)


@dataclass(frozen=True)
class OddsJudge:
    """One model that reads one conversation. Each answer takes two calls of one token."""

    llm: LLM
    settings: JudgeSettings
    context: CallContext
    view: View
    now: str = ""

    @classmethod
    def of(cls, llm: LLM, settings: JudgeSettings, context: CallContext, transcript: Transcript) -> OddsJudge:
        """The one that reads this conversation."""
        now = in_words(transcript.now) if transcript.now else ""
        return cls(llm, settings, context, view_of(transcript), now)

    async def results(
        self, criteria: Sequence[Criterion], asked: Asked = "statement"
    ) -> tuple[CriterionResult, ...]:
        """The answers to these criteria, in their order.

        With `asked: opposite`, `log_odds` asks for the opposite, as a second vote; `contrast` asks for both
        in any case. Raises `NoTokenChances`, and what `llm` raises.
        """
        # One after the other: a local server keeps the conversation, which comes first, for the next call.
        return tuple([await self._result(criterion, asked) for criterion in criteria])

    async def _result(self, criterion: Criterion, asked: Asked) -> CriterionResult:
        if self.settings.method == "contrast" and not criterion.opposite:
            return _undecided(criterion, _NO_OPPOSITE)
        score = await self._score(criterion, asked)
        if score is None:
            return _undecided(criterion, "The judge would answer neither Yes nor No.")
        threshold = self.settings.threshold or 0.0
        # The opposite is asked with the same lean to Yes, so its own log-odds have the same threshold.
        flipped = asked == "opposite" and self.settings.method == "log_odds"
        found = _counted(criterion, score, threshold, _MEASURED[self.settings.method, flipped])
        return _turned(found) if flipped else found

    async def _score(self, criterion: Criterion, asked: Asked) -> float | None:
        """The log-odds of what is asked, less those of what it is compared with; None if there are none."""
        ask, statement, opposite = partial(self._odds, criterion), criterion.text, criterion.opposite
        if self.settings.method == "contrast":
            pair = await ask(statement, self.view), await ask(opposite or "", self.view)
        else:
            said = statement if asked == "statement" else opposite or f"It is not true that: {statement}"
            pair = await ask(said, self.view), await ask(said, _EMPTY)
        return None if pair[0] is None or pair[1] is None else pair[0] - pair[1]

    async def _odds(self, criterion: Criterion, statement: str, view: View) -> float | None:
        question = prompts.render(
            "judge_odds", view=view, now=self.now, tool=criterion.tool, statement=statement
        )
        return await odds_of_yes(self.llm, self.settings, question, self.context, needed_by=self._needed_by)

    @property
    def _needed_by(self) -> str:
        return f"judge.method: {self.settings.method} needs; take another judge.model, or the method text"


_NO_OPPOSITE = (
    "Nobody knows the opposite of this criterion, which judge.method: contrast needs: write it as "
    "`{text: …, opposite: …}`."
)
_MEASURED = {
    (
        "log_odds",
        False,
    ): "The log-odds that the statement is true are {score:+.2f} against an empty conversation",
    (
        "log_odds",
        True,
    ): "The log-odds that the opposite is true are {score:+.2f} against an empty conversation",
    (
        "contrast",
        False,
    ): "The log-odds that the statement is true are {score:+.2f} against those of its opposite",
}


def _counted(criterion: Criterion, score: float, threshold: float, measured: str) -> CriterionResult:
    """What a score comes to: true above the threshold, false below it, undecided near it."""
    finding = f"{measured.format(score=score)}; true from {threshold:+.2f}"
    if abs(score - threshold) < UNCERTAIN:
        return _undecided(criterion, f"{finding}, which is too near to tell (within {UNCERTAIN}).", score)
    return _answer(criterion, score > threshold, f"{finding}.", score)


def _answer(criterion: Criterion, true: bool, finding: str, score: float) -> CriterionResult:
    """The word for a statement that is true or not. What must not happen speaks against the agent if true."""
    yes, no = (word for word in WORDS[criterion.kind] if word != "cannot_tell")
    word = yes if true else no
    return CriterionResult(criterion, word, WORDS[criterion.kind][word], finding, score=score)


def _undecided(criterion: Criterion, finding: str, score: float | None = None) -> CriterionResult:
    return CriterionResult(criterion, "cannot_tell", None, finding, score=score)


def _turned(opposite: CriterionResult) -> CriterionResult:
    """The answer about the statement that follows from the one about its opposite."""
    score = None if opposite.score is None else -opposite.score
    if opposite.holds is None:
        return replace(opposite, score=score)
    words = WORDS[opposite.criterion.kind]
    word = next(word for word, holds in words.items() if holds is not None and word != opposite.answer)
    return replace(opposite, answer=word, holds=words[word], score=score)
