"""What an answer of the judge owes as evidence, and whether it has it. Pure functions.

A question is about something that happens (presence) or about something that doesn't (absence). What an
answer owes follows from that and from its word alone, so an answer against the agent owes what one for it
owes:

| the question is about | the answer: it is so | the answer: it isn't so |
|---|---|---|
| presence ("asks for the date") | it happened: **a quote** | it didn't: **`absence`**, or a quote |
| absence ("never asks for the date") | it didn't: **`absence`**, or a quote | it happened: **a quote** |

- A quote counts only if it was said by whom the criterion is about. For something that didn't happen, a real
  quote of somebody else does no harm, but proves nothing either: `absence` is still owed.
- A quote that is nowhere in the conversation discredits any answer: else `absence` would be a way around the
  evidence. So does a finding that is the prompt's own placeholder.
- `cannot_tell` owes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from .evidence import Located, NotFound, is_trivial
from .passages import Quotable
from .questions import CANNOT_TELL, WORDS, JudgeQuestion
from .reply import CriterionAnswer, is_copied
from .types import CriterionResult, Shows

_NO_QUOTE = "there is no quote, and it says that something happened: only a quote shows that"
_NOTHING = "there is neither a quote nor `absence`"


@dataclass(frozen=True)
class Unproven:
    """An answer without valid evidence, and the reason."""

    question: JudgeQuestion
    answer: CriterionAnswer
    why: str

    @property
    def holds(self) -> bool | None:
        """What it would mean for the agent, were it proven."""
        return _holds(self.question, self.answer)


Judged = CriterionResult | Unproven


def weigh(question: JudgeQuestion, answer: CriterionAnswer, quotable: Quotable) -> Judged:
    """The answer with its quote located, or the reason why it cannot count."""
    place = quotable.locate(question.criterion, answer.quote, answer.turn)
    why = "" if answer.verdict == CANNOT_TELL else _missing(question, answer, place)
    if why:
        return Unproven(question, answer, why)
    return _result(question, answer, place if isinstance(place, Located) else None)


def settled(judged: Judged) -> CriterionResult:
    """A claim that still has no evidence becomes `cannot_tell`."""
    if isinstance(judged, CriterionResult):
        return judged
    answer = judged.question.answer(judged.answer.verdict)
    finding = (
        f"No evidence for {answer}: {judged.why}. The judge's finding was: {judged.answer.finding.strip()}"
    )
    return CriterionResult(judged.question.criterion, CANNOT_TELL, None, finding)


def after_second_look(before: Unproven, again: Judged) -> Judged:
    """What a second look at an unproven answer comes to.

    An answer for the agent, for which there was no evidence, is not turned against it by being asked again:
    a model that is asked for a proof often gives in. So that stays undecided.
    """
    against = isinstance(again, CriterionResult) and again.holds is False
    return before if against and before.holds is not False else again


def _missing(question: JudgeQuestion, answer: CriterionAnswer, place: Located | NotFound) -> str:
    """What the answer lacks; empty if it has the evidence that it owes (the table above)."""
    if is_copied(answer.finding):
        return "its finding is the placeholder of the example: write what decides it"
    if isinstance(place, Located):
        return ""
    never = (answer.verdict == question.yes) is (question.shows is Shows.ABSENCE)
    if not is_trivial(answer.quote) and not (never and place.others):
        return place.why
    if never:
        return "" if answer.absence else _NOTHING
    return place.why if place.others else _NO_QUOTE


def _holds(question: JudgeQuestion, answer: CriterionAnswer) -> bool | None:
    return WORDS[question.criterion.kind][question.answer(answer.verdict)]


def _result(question: JudgeQuestion, answer: CriterionAnswer, place: Located | None) -> CriterionResult:
    return CriterionResult(
        criterion=question.criterion,
        answer=question.answer(answer.verdict),
        holds=_holds(question, answer),
        finding=answer.finding.strip(),
        quote=place.quote if place else None,
        turn=place.turn if place else None,
    )
