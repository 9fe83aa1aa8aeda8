"""A finding against the agent is put to a second vote: another order, the opposite wording, another voter.

A judge that errs once in twenty times would make a suite of twenty scenarios red nearly always. Errors of two
questions that are asked from opposite sides are rarely the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..errors import StructuredReplyError
from ..text import has_same_words
from .facts import tokens
from .questions import CANNOT_TELL, Voter, opposite_of
from .transcript_view import ENDINGS
from .types import CriterionResult, Shows, Vote

_TELLING = 4


async def put_to_vote(
    first: Sequence[CriterionResult], by: str, voters: Sequence[Voter], *, every: bool = False
) -> tuple[CriterionResult, ...]:
    """The results after each of `voters` was asked about those that need it; `by` gave the first answers.

    With `every`, all that is decided needs it, also what speaks for the agent.

    One call for each voter, none where no result needs it. A vote that cannot be had in the right shape is
    one that cannot tell. Raises what the models raise: without a second vote there is no verdict.
    """
    asked = [found for found in first if needs_vote(found) or (every and found.holds is not None)]
    more: dict[str, list[Vote]] = {found.criterion.id: [] for found in asked}
    for voter in voters if asked else ():
        for found in await _asked(voter, asked):
            more[found.criterion.id].append(_vote(found, voter.model, "opposite"))
    return tuple(settle_votes(found, by, more.get(found.criterion.id, ())) for found in first)


def needs_vote(found: CriterionResult) -> bool:
    """Whether one answer is not enough: it is against the agent, or for it by a quote that may show nothing.

    No code can see whether a sentence is evidence. But one that has no word in common with the criterion or
    its opposite is worth a second question; where the two are in different languages, that is always so. A
    quote that has all of the criterion is, too: agents speak the words of their test only to a judge.
    """
    if found.holds is None:
        return False
    return found.holds is False or _is_doubtful(found)


def settle_votes(found: CriterionResult, by: str, more: Sequence[Vote]) -> CriterionResult:
    """What the first answer, by the model `by` or by a panel, and `more` votes come to.

    Against the agent all must agree. An answer for it is given up only if one says the contrary.
    """
    if not more:
        return found
    votes = (*(found.votes or (_vote(found, by, "statement"),)), *more)
    agree = all(vote.holds is False for vote in more)
    if (found.holds is False and agree) or (found.holds and all(vote.holds is not False for vote in more)):
        return replace(found, votes=votes)
    finding = _both(_vote(found, by, "statement"), more)
    return CriterionResult(found.criterion, CANNOT_TELL, None, finding, votes=votes, score=found.score)


def _is_doubtful(found: CriterionResult) -> bool:
    criterion = found.criterion
    is_so = found.answer in ("met", "triggered")
    happened = is_so is (criterion.shows is not Shows.ABSENCE)
    if found.quote is None or not happened:
        return False
    if has_same_words(found.quote, criterion.text) and not _is_ours(found.quote):
        return True
    return not _telling(found.quote) & (_telling(criterion.text) | _telling(criterion.opposite or ""))


def _is_ours(quote: str) -> bool:
    """Whether it is our own sentence on how the conversation ended."""
    return any(has_same_words(quote, ending) for ending in ENDINGS.values())


def _telling(text: str) -> set[str]:
    """Beginnings of longer words, and numbers: `refunded` and `refund` are alike."""
    return {word if word.isdigit() else word[:_TELLING] for word in tokens(text) if _is_telling(word)}


def _is_telling(word: str) -> bool:
    return len(word) >= _TELLING or re.fullmatch(r"\d+", word) is not None


async def _asked(voter: Voter, results: Sequence[CriterionResult]) -> tuple[CriterionResult, ...]:
    # In the other order: what is asked first is answered with less in mind.
    questions = [opposite_of(found.criterion) for found in reversed(results)]
    try:
        return await voter.answers(questions)
    except StructuredReplyError as error:
        silent = (question.criterion for question in questions)
        return tuple(CriterionResult(one, CANNOT_TELL, None, str(error)) for one in silent)


def _vote(found: CriterionResult, model: str, asked: str) -> Vote:
    return Vote(found.answer, found.holds, found.finding, found.quote, found.turn, model, asked)


def _both(first: Vote, others: Sequence[Vote]) -> str:
    """The first answer and a vote that differs from it, in words."""
    contrary = [vote for vote in others if vote.holds is not None and vote.holds is not first.holds]
    other = next(iter(contrary or [vote for vote in others if vote.holds is not first.holds]))
    second = f"A second, asked about the opposite, said {_said(other)}."
    return f"Two votes differ. The first said {_said(first)}. {second}"


def _said(vote: Vote) -> str:
    quote = f' ("{vote.quote}", turn {vote.turn})' if vote.quote else ""
    return f"{vote.answer.replace('_', ' ')}: {vote.finding.rstrip('.')}{quote}"
