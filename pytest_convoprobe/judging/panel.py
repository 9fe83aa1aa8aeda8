"""Several judges of one conversation: their votes, and what these come to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..errors import ConvoprobeError, JudgeError, LLMUnavailable, ReplayMiss, StructuredReplyError
from ..settings.judge_settings import JudgeSettings
from ..settings.panel import members_of
from .types import Criterion, CriterionResult, Vote

NO_VOTE = "no_vote"
"""The answer of a member that gave none. Its finding says why."""

Results = tuple[CriterionResult, ...]
AskMember = Callable[[JudgeSettings], Awaitable[Results]]
"""Puts all criteria to one model."""

_OUTAGES = (LLMUnavailable, ReplayMiss)
_MISSING = (*_OUTAGES, JudgeError, StructuredReplyError)
"""What makes a vote a missing one.

A call that isn't recorded is among them: where a member gave no vote when the conversation was recorded, it
gives none in the replay, and the others come to the same. A refusal (a wrong key, no probabilities) is not:
it would go on in each conversation, and the panel would be smaller than it is said to be.
"""


async def panel_results(settings: JudgeSettings, criteria: Sequence[Criterion], ask: AskMember) -> Results:
    """What the judge and its panel come to, in the order of the criteria.

    All members are asked at once. A member that is down has no vote; the majority (or all, for
    `agreement: unanimous`) is counted of all members, with those that failed. Raises the error of a failed
    member if its vote could still decide something: a provider that is down is no verdict. Without a panel,
    this is the judge's own answer.
    """
    members = judges_of(settings)
    if len(members) == 1:
        return await ask(settings)
    replies = await _all(ask, members)
    failed = [reply for reply in replies if isinstance(reply, ConvoprobeError)]
    if len(failed) == len(members):
        raise failed[0]
    count = _Count(settings.agreement, len(members), len(failed))
    found = tuple(
        count.result(
            criterion, [_vote(reply, place, member) for member, reply in zip(members, replies, strict=True)]
        )
        for place, criterion in enumerate(criteria)
    )
    outage = next((error for error in failed if isinstance(error, _OUTAGES)), None)
    if outage is not None and any(map(count.is_open, found)):
        raise outage
    return found


def judges_of(settings: JudgeSettings) -> tuple[JudgeSettings, ...]:
    """The judge, then its panel; each with settings of its own."""
    return tuple(member for member in members_of(settings) if isinstance(member, JudgeSettings))


def most_calls(settings: JudgeSettings, criteria: int) -> int:
    """How many calls a conversation with so many criteria takes at most: the first votes and the second.

    Not counted are questions for evidence, look-ups in long texts, repairs of a reply, and what is asked once
    in a session.
    """
    members = len(judges_of(settings))
    # A contrast has asked from both sides already, so its own model isn't asked again.
    second = bool(settings.second_vote) and (members > 1 or settings.method != "contrast")
    # By log-odds, each criterion takes two calls, of one token each.
    return (members + second) * (1 if settings.method == "text" else 2 * criteria)


def other_judge(settings: JudgeSettings, first: Sequence[CriterionResult]) -> JudgeSettings:
    """Who gives the second vote: another model if there is a panel, else the same.

    It is the last member that gave its first vote: one that is down can't give a second one either. Where
    the panel has found something against the agent, it is one that found it: a member that was outvoted
    would take back each finding of a majority.
    """
    silent = {vote.model for found in first for vote in found.votes if vote.answer == NO_VOTE}
    members = [member for member in judges_of(settings) if member.model not in silent]
    against = [found for found in first if found.holds is False]
    outvoted = {vote.model for found in against for vote in found.votes if vote.holds is not False}
    return ([member for member in members if member.model not in outvoted] or members)[-1]


T = TypeVar("T")


async def first_reply(settings: JudgeSettings, ask: Callable[[JudgeSettings], Awaitable[T]]) -> T:
    """What the judge replies, or the first member of its panel that does, one after the other.

    Raises the judge's own error if none does.
    """
    errors: list[ConvoprobeError] = []
    for member in judges_of(settings):
        try:
            return await ask(member)
        except _MISSING as error:
            errors.append(error)
    raise errors[0]


async def _all(ask: AskMember, members: Sequence[JudgeSettings]) -> list[Results | ConvoprobeError]:
    async def asked(member: JudgeSettings) -> Results | ConvoprobeError:
        try:
            return await ask(member)
        except _MISSING as error:
            return error

    calls = [asyncio.ensure_future(asked(member)) for member in members]
    try:
        return list(await asyncio.gather(*calls))
    finally:
        # Where one member ends the run, such as by its budget, the others must not go on behind it.
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


def _vote(reply: Results | ConvoprobeError, place: int, member: JudgeSettings) -> Vote:
    model = member.model or ""
    if isinstance(reply, ConvoprobeError):
        return Vote(NO_VOTE, None, str(reply), model=model)
    one = reply[place]
    return Vote(one.answer, one.holds, one.finding, one.quote, one.turn, model)


@dataclass(frozen=True)
class _Count:
    """Counts votes: how many of so many members have to agree, and how many have no vote."""

    agreement: str
    members: int
    missing: int

    @property
    def needed(self) -> int:
        return self.members if self.agreement == "unanimous" else self.members // 2 + 1

    def result(self, criterion: Criterion, votes: Sequence[Vote]) -> CriterionResult:
        """The answer that enough votes give, with the evidence of the first of them; else `cannot_tell`."""
        first = next((vote for vote in votes if self._agree(vote, votes) >= self.needed), None)
        if first is None:
            rule = f"{self.agreement}, so {self.needed} of {self.members} have to"
            finding = f"The panel doesn't agree ({rule}): {self._said(votes)}."
            return CriterionResult(criterion, "cannot_tell", None, finding, votes=tuple(votes))
        finding = f"{first.finding} ({self._said(votes)})"
        return CriterionResult(
            criterion, first.answer, first.holds, finding, first.quote, first.turn, votes=tuple(votes)
        )

    def is_open(self, result: CriterionResult) -> bool:
        """Whether it is undecided, and the votes that are missing could decide it."""
        most = max(self._agree(vote, result.votes) for vote in result.votes)
        return result.holds is None and most + self.missing >= self.needed

    def _agree(self, vote: Vote, votes: Sequence[Vote]) -> int:
        """How many say the same, if it says anything."""
        return 0 if vote.holds is None else sum(other.holds is vote.holds for other in votes)

    def _said(self, votes: Sequence[Vote]) -> str:
        """`2 for met, 1 for not_met, 1 missing`."""
        words = Counter(vote.answer for vote in votes if vote.answer != NO_VOTE)
        said = [f"{count} for {word}" for word, count in words.most_common()]
        return ", ".join([*said, *([f"{self.missing} missing"] if self.missing else [])])
