"""The judge by log-odds: what small models would say before they explain, compared with what they lean to.

`log_odds` compares the conversation with an empty one, `contrast` the criterion with its opposite. Both take
out what the model would say to anything. A reply has no room for a quote, so the finding gives the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import prompts
from ..llm.port import LLM, CallContext
from ..settings.judge_settings import JudgeSettings
from ..transcript import Transcript
from .log_odds import odds_of_yes
from .questions import CANNOT_TELL, WORDS, JudgeQuestion
from .transcript_view import View, view_of
from .types import About, Criterion, CriterionResult, Shows

UNCERTAIN = 0.2
"""Nats on either side of the threshold in which nothing is decided.

The same request gives slightly different chances when a server computes it in another batch. A verdict that
turns on less than this would turn by itself.
"""

_EMPTY = view_of(Transcript(()), ending=False)


@dataclass(frozen=True)
class OddsVoter:
    """A judge that answers by the chances of one word, with two calls of one token each. See `Voter`.

    `now` is when the conversation began, in words; empty if nobody knows. `hidden` are those of whose words
    the view shows only a part. A reply has no room for looking up the rest, so what such a judge would say
    did not happen there is undecided.
    """

    llm: LLM
    settings: JudgeSettings
    view: View
    context: CallContext
    now: str = ""
    hidden: frozenset[About] = frozenset()

    @property
    def model(self) -> str:
        return self.settings.model or ""

    async def answers(self, questions: Sequence[JudgeQuestion]) -> tuple[CriterionResult, ...]:
        """Raises `NoTokenChances`, and what `llm` raises.

        `contrast` asks for the statement and its opposite, whichever of them is the question.
        """
        # One after the other: a local server keeps the conversation, which comes first, for the next call.
        return tuple([self._seen(await self._answer(question)) for question in questions])

    def _seen(self, found: CriterionResult) -> CriterionResult:
        """Undecided, if it says that something did not happen where only a part was shown."""
        about, shows = found.criterion.about or About.ANY, found.criterion.shows or Shows.PRESENCE
        is_so = found.answer in ("met", "triggered")
        hidden = bool(self.hidden) if about is About.ANY else about in self.hidden
        if found.holds is None or not hidden or is_so is (shows is Shows.PRESENCE):
            return found
        finding = f"{found.finding} {_NOT_SHOWN}"
        return CriterionResult(found.criterion, CANNOT_TELL, None, finding, score=found.score)

    async def _answer(self, question: JudgeQuestion) -> CriterionResult:
        if self.settings.method == "contrast":
            return await self._contrast(question.criterion)
        criterion, threshold = question.criterion, self.settings.threshold or 0.0
        # The opposite is read with the same lean to Yes as the statement, so it has the same threshold.
        score = _less(
            await self._odds(question.text, criterion, self.view),
            await self._odds(question.text, criterion, _EMPTY),
        )
        return _counted(
            criterion,
            score,
            threshold,
            opposite=question.asked == "opposite",
            against="an empty conversation",
        )

    async def _contrast(self, criterion: Criterion) -> CriterionResult:
        if not criterion.opposite:
            return CriterionResult(criterion, CANNOT_TELL, None, _NO_OPPOSITE)
        statement = await self._odds(criterion.text, criterion, self.view)
        score = _less(statement, await self._odds(criterion.opposite, criterion, self.view))
        return _counted(criterion, score, self.settings.threshold or 0.0, against="those of its opposite")

    async def _odds(self, statement: str, criterion: Criterion, view: View) -> float | None:
        question = prompts.render(
            "judge_odds", view=view, now=self.now, tool=criterion.tool, statement=statement
        )
        return await odds_of_yes(
            self.llm, self.settings, question, self.context, needed_by=needed_by(self.settings)
        )


def needed_by(settings: JudgeSettings) -> str:
    """What needs the probabilities, and what to do without, as `odds_of_yes` wants it."""
    return f"judge.method: {settings.method} needs; take another judge.model, or the method text"


_NOT_SHOWN = (
    "But a text of the conversation is too long to be shown whole, and by this judge.method nothing can be "
    "looked up in it: what wasn't seen may be there. The method text can look it up."
)

_NO_OPPOSITE = (
    "Nobody knows the opposite of this criterion, which judge.method: contrast needs: write it as "
    "`{text: …, opposite: …}`."
)


def _less(odds: float | None, others: float | None) -> float | None:
    return None if odds is None or others is None else odds - others


def _counted(
    criterion: Criterion, score: float | None, threshold: float, *, against: str, opposite: bool = False
) -> CriterionResult:
    """What a score comes to: true above the threshold, false below it, undecided near it.

    The score of the opposite is turned round, so that a larger one always speaks for the statement.
    """
    if score is None:
        return CriterionResult(criterion, CANNOT_TELL, None, "The judge would answer neither Yes nor No.")
    what = "the opposite" if opposite else "the statement"
    finding = (
        f"The log-odds that {what} is true are {score:+.2f} against {against}; true from {threshold:+.2f}"
    )
    kept = -score if opposite else score
    if abs(score - threshold) < UNCERTAIN:
        finding += f", which is too near to tell (within {UNCERTAIN})."
        return CriterionResult(criterion, CANNOT_TELL, None, finding, score=kept)
    word = _word(criterion, (score > threshold) is not opposite)
    return CriterionResult(criterion, word, WORDS[criterion.kind][word], f"{finding}.", score=kept)


def _word(criterion: Criterion, true: bool) -> str:
    """The word for a statement that is true or not. What must not happen speaks against the agent if true."""
    yes, no = list(WORDS[criterion.kind])[:2]
    return yes if true else no
