"""A criterion as one voter is asked about it: in its own words, or by its opposite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from .types import Criterion, CriterionKind, CriterionResult, Shows

CANNOT_TELL = "cannot_tell"

WORDS: dict[CriterionKind, dict[str, bool | None]] = {
    CriterionKind.CORRECTNESS: {"met": True, "not_met": False, CANNOT_TELL: None},
    CriterionKind.TOOL: {"met": True, "not_met": False, CANNOT_TELL: None},
    CriterionKind.FAILURE: {"triggered": False, "not_triggered": True, CANNOT_TELL: None},
}
"""The judge's words for each kind of criterion, with what they mean for the agent."""

_FLIPPED = {Shows.PRESENCE: Shows.ABSENCE, Shows.ABSENCE: Shows.PRESENCE}


@dataclass(frozen=True)
class JudgeQuestion:
    """What a voter reads, and the words that it may answer with.

    `yes` says that `text` is true of the conversation, `no` that it isn't. `shows` is about this text: the
    opposite of something that happens is something that doesn't. `label` is the kind in the prompt.
    """

    criterion: Criterion
    text: str
    label: Literal["must", "must not", "statement"]
    yes: str
    no: str
    shows: Shows
    asked: Literal["statement", "opposite"] = "statement"

    @property
    def id(self) -> str:
        return self.criterion.id

    @property
    def words(self) -> tuple[str, ...]:
        return self.yes, self.no, CANNOT_TELL

    def answer(self, word: str) -> str:
        """The criterion's own word for what the voter said of this text."""
        if word == CANNOT_TELL:
            return CANNOT_TELL
        true, false = list(WORDS[self.criterion.kind])[:2]
        return true if (word == self.yes) is (self.asked == "statement") else false


class Voter(Protocol):
    """Answers questions about one conversation; `model` is the name that its votes are stored under."""

    @property
    def model(self) -> str: ...

    async def answers(self, questions: Sequence[JudgeQuestion]) -> tuple[CriterionResult, ...]:
        """One answer to each question, about its criterion, in the order of the questions.

        Raises `StructuredReplyError` if the reply never has the right shape, and what the models raise.
        """
        ...


def statement_of(criterion: Criterion) -> JudgeQuestion:
    """The criterion in its own words."""
    yes, no = list(WORDS[criterion.kind])[:2]
    label: Literal["must", "must not"] = "must not" if criterion.kind is CriterionKind.FAILURE else "must"
    return JudgeQuestion(criterion, criterion.text, label, yes, no, criterion.shows or Shows.PRESENCE)


def opposite_of(criterion: Criterion) -> JudgeQuestion:
    """The opposite of the criterion, as a plain statement: who errs by saying yes errs the other way here."""
    shows = _FLIPPED[criterion.shows or Shows.PRESENCE]
    text = criterion.opposite or denied(criterion.text)
    return JudgeQuestion(criterion, text, "statement", "true", "false", shows, "opposite")


def is_settled(criterion: Criterion, *, evidence: bool, opposite: bool) -> bool:
    """Whether its opposite is known, and what is evidence for it, as far as these are needed."""
    bound = criterion.about is not None and criterion.shows is not None
    return (bound or not evidence) and (criterion.opposite is not None or not opposite)


def denied(text: str) -> str:
    """The opposite of any sentence, where nobody has put it better."""
    return f"It is not true that: {text}"
