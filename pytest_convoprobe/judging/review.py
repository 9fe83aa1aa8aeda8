"""The review of the user's side, before a conversation counts against the agent.

One call, to the judge's model. What it says is checked by code: a fact is one of the scenario's, the agent's
question is in the turn that it names, and a quote is the user's own. Whether words are the assistant's is not
for code to say: the guard is asked, which knows nothing of the findings. So a review can't excuse an agent by
what never happened, and what it can't prove changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from .. import prompts
from ..errors import ConvoprobeError
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, LLMRequest, Message
from ..llm.structured import ask
from ..scenario.models import SimulatedTurns, SyntheticUser
from ..settings.model_settings import ModelSettings
from ..text import one_line, shorten
from ..transcript import Origin, Transcript, Turn
from .checks import GREETING, SILENCE
from .evidence import SPACELESS, Located, Sources
from .facts import distinctive, never_said, tokens, was_said
from .passages import texts_by_turn
from .tool_checks import ONLY_LISTED
from .transcript_view import view_of
from .types import CheckResult, CriterionResult, UserReview

NOT_REVIEWED = "the user's side was not reviewed: "
"""How a note begins that says why there was no review."""

_QUOTE = 120
_QUESTION_MARKS = frozenset("?\uff1f\u061f\u037e\u055e\u1367")
_SENTENCE_END = re.compile("[.!\u2026\u3002?\uff1f\u061f\u037e\u055e\u1367\n]+")
# Models write `[check 1]`, or the text of the finding behind its id.
_FINDING_ID = re.compile(r"\W*(check \d+|[a-z]+\d+)\b")
# Shorter words (the, is, and) are in every sentence.
_TELLING = 4
# Of every letter, hence the look-ahead: where there are no spaces, nobody knows where a word begins.
_SPACELESS_PAIR = re.compile(f"(?=([{SPACELESS}]{{2}}))")
# What an agent does is its own: no user makes it silent, or makes it call a tool that it must never call.
_INEXCUSABLE = re.compile(
    rf"prohibited tool .*|{SILENCE}|{GREETING}|{ONLY_LISTED}"
    r"|\w+(?: last)? reply (?:in turns? [\d and]+ )?doesn't .*",
    re.DOTALL,
)
_NEVER = ("exactly 0", "at most 0")


class Withheld(BaseModel):
    """A known fact that the agent asked for in `turn`, and never got."""

    fact: str
    turn: int
    question: str


class Slip(BaseModel):
    """Words of the user that its description doesn't allow."""

    turn: int
    quote: str


class UserReviewReply(BaseModel):
    """What the reviewer found; the fields are in the order in which it is to think."""

    finding: str
    withheld: tuple[Withheld, ...] = ()
    invented: tuple[Slip, ...] = ()
    out_of_role: tuple[Slip, ...] = ()
    explains: tuple[str, ...] = Field(default=(), description="Findings that come from this alone.")


@dataclass(frozen=True)
class Against:
    """A finding against the agent: a criterion that speaks against it, or a check that doesn't hold."""

    id: str
    text: str
    excusable: bool = True


SpeaksAsAssistant = Callable[[Turn], Awaitable[bool]]
"""Whether a message is one that only the assistant's side would write; asked apart from the review."""


def against_agent(criteria: Iterable[CriterionResult], checks: Iterable[CheckResult]) -> tuple[Against, ...]:
    """What speaks against the agent, with the ids that the reviewer knows it by."""
    broken = [check for check in checks if not check.holds]
    return (
        *(
            Against(found.criterion.id, f"{found.criterion.text}: {found.answer}. {found.finding}")
            for found in criteria
            if found.holds is False
        ),
        *(
            Against(
                f"check {number}",
                f"{check.name}: expected {check.expected}, found {check.found}",
                not _INEXCUSABLE.fullmatch(check.name) and check.expected not in _NEVER,
            )
            for number, check in enumerate(broken, start=1)
        ),
    )


def simulated_turns(transcript: Transcript) -> tuple[Turn, ...]:
    """The turns whose message a model wrote. The others are the author's: they are never at fault."""
    return tuple(turn for turn in transcript.turns if turn.origin is Origin.SIMULATED)


async def review_user(
    llm: LLM,
    model: ModelSettings,
    user: SyntheticUser,
    transcript: Transcript,
    findings: Sequence[Against],
    context: CallContext,
    redactor: TextRedactor | None = None,
    *,
    speaks_as_assistant: SpeaksAsAssistant,
) -> UserReview:
    """Whether the user did something that explains every finding.

    One call, none without simulated messages. `speaks_as_assistant` is asked only where the review has no
    other reason than a user who left its role. A review that can't be had, or proves nothing, leaves the
    findings as they are: the note says why.
    """
    if not simulated_turns(transcript):
        return UserReview()
    if transcript.now is None:
        # Its recording, or its stored trial, has no such call: a replay must not need one.
        return UserReview(note=f"{NOT_REVIEWED}it was recorded before there were reviews")
    question = Message("user", _question(user, transcript, findings))
    system = Message("system", prompts.render("review_system"))
    request = LLMRequest(model, (system, question), context, schema_name="user_review")
    try:
        reply = await ask(llm, request, UserReviewReply, redactor=redactor)
        return await _weighed(reply, findings, _Evidence(user, transcript), speaks_as_assistant)
    except ConvoprobeError as error:
        return UserReview(note=NOT_REVIEWED + one_line(str(error)))


def user_side(user: SyntheticUser, transcript: Transcript, review: UserReview) -> UserReview | None:
    """The review with the known facts that the user kept to itself; None if there is nothing to say."""
    if simulated_turns(transcript):
        said = [turn.user for turn in transcript.turns] + _said_before(transcript, by_agent=False)
        by_words = never_said(user.clarification_behavior.known_facts, said)
        # The review may prove it of a fact whose words code can't look for.
        review = replace(review, never_said=tuple(dict.fromkeys((*by_words, *review.never_said))))
    return None if review == UserReview() else review


async def _weighed(
    reply: UserReviewReply,
    findings: Sequence[Against],
    evidence: _Evidence,
    speaks_as_assistant: SpeaksAsAssistant,
) -> UserReview:
    left = evidence.withheld_facts(reply)
    named = (_FINDING_ID.match(identifier.lower()) for identifier in reply.explains)
    explained = {found[1] for found in named if found}
    if not all(finding.excusable and finding.id in explained for finding in findings):
        return UserReview(never_said=left)
    proven = next(evidence.proven(reply), "") or await evidence.out_of_role(reply, speaks_as_assistant)
    if proven:
        return UserReview(proven, never_said=left)
    return UserReview(note="the review blames the user, but the conversation doesn't bear it out")


_NO_OPENING = "(none: the agent spoke first, and the user answered)"


def _question(user: SyntheticUser, transcript: Transcript, findings: Sequence[Against]) -> str:
    behaviour = user.clarification_behavior
    return prompts.render(
        "review",
        persona=user.persona,
        opening=user.initial_query or _NO_OPENING,
        known_facts=behaviour.known_facts,
        unknown_facts=behaviour.unknown_facts,
        instructions=tuple(_instructions(user)),
        turns=[turn.number for turn in simulated_turns(transcript)],
        view=view_of(transcript),
        findings=findings,
    )


def _instructions(user: SyntheticUser) -> Iterator[str]:
    yield from (landmark.instruction for landmark in user.landmarks)
    for part in user.script:
        if isinstance(part, SimulatedTurns) and part.instruction:
            yield part.instruction


class _Evidence:
    """Looks up in the conversation what a reviewer claims."""

    def __init__(self, user: SyntheticUser, transcript: Transcript) -> None:
        self._user = user
        self._facts = user.clarification_behavior.known_facts
        self._transcript = transcript
        self._turns = {turn.number: turn for turn in transcript.turns}
        self._simulated = {turn.number: turn for turn in simulated_turns(transcript)}
        # What the scenario has answered for the user is none of the agent's words either.
        silent_user = tuple(
            replace(turn, user="", reply=replace(turn.reply, pending=())) for turn in transcript.turns
        )
        self._of_agent = texts_by_turn(replace(transcript, turns=silent_user))

    def proven(self, reply: UserReviewReply) -> Iterator[str]:
        """A sentence for each claim that the conversation bears out."""
        yield from (words for claim in reply.withheld if (words := self._withheld(claim)))
        yield from (words for claim in reply.invented if (words := self._invented(claim)))

    async def out_of_role(self, reply: UserReviewReply, speaks_as_assistant: SpeaksAsAssistant) -> str:
        """A sentence for the first message that the guard takes for the assistant's, or an empty one."""
        for claim in reply.out_of_role:
            turn = self._simulated.get(claim.turn)
            # That the user said it proves nothing: any message of any user can be quoted.
            if turn is not None and self._is_quoted(claim, turn) and await speaks_as_assistant(turn):
                return f'in turn {turn.number} the synthetic user left its role ("{_short(claim.quote)}")'
        return ""

    @staticmethod
    def _is_quoted(claim: Slip, turn: Turn) -> bool:
        return _is_in(claim.quote, turn.user)

    def withheld_facts(self, reply: UserReviewReply) -> tuple[str, ...]:
        """The facts that the agent asked for and did not get, as far as that is proven."""
        proven = (self._fact(claim.fact) for claim in reply.withheld if self._withheld(claim))
        return tuple(fact for fact in proven if fact is not None)

    def _withheld(self, claim: Withheld) -> str:
        fact = self._fact(claim.fact)
        turn = self._turns.get(claim.turn)
        if fact is None or turn is None or not _is_in(claim.question, turn.reply.text):
            return ""
        # It had the chance to answer only if a model wrote a later message.
        later = [other for number, other in self._simulated.items() if number > turn.number]
        before = _said_before(self._transcript, by_agent=False)
        said = was_said(fact, [*before, *(other.user for other in self._turns.values())])
        if not later or said or not _asks_for(claim.question, turn.reply.text, fact):
            return ""
        return (
            f'the synthetic user never said "{_short(fact)}", although the agent asked for it in turn '
            f'{turn.number} ("{_short(claim.question)}")'
        )

    def _invented(self, claim: Slip) -> str:
        turn = self._simulated.get(claim.turn)
        if turn is None or not _is_in(claim.quote, turn.user):
            return ""
        new = distinctive(claim.quote) - self._known(before=turn.number)
        # What the agent didn't take up has not hindered it, however often the user says it.
        used = {
            token
            for number, texts in self._of_agent.items()
            if number >= turn.number
            for text in texts
            for token in tokens(text)
        }
        if not new & used:
            return ""
        return f'in turn {turn.number} the synthetic user made up "{_short(claim.quote)}"'

    def _fact(self, named: str) -> str | None:
        """By its id (`fact 2`), or by its words."""
        by_id = {f"fact {number}": fact for number, fact in enumerate(self._facts, start=1)}
        key = " ".join(named.strip().strip("[]").casefold().split())
        by_words = {" ".join(fact.casefold().split()): fact for fact in self._facts}
        return by_id.get(key) or by_words.get(key)

    def _known(self, before: int) -> set[str]:
        """The words that the user had from its description, or from the agent."""
        user = self._user
        behaviour = user.clarification_behavior
        given = [user.persona, user.initial_query, *behaviour.known_facts, *behaviour.unknown_facts]
        given += [*_instructions(user), *(part for part in user.script if isinstance(part, str))]
        heard = [turn.reply.text for number, turn in self._turns.items() if number < before]
        heard += [text for side in (True, False) for text in _said_before(self._transcript, by_agent=side)]
        return {token for text in (*given, *heard) for token in tokens(text)}


def _said_before(transcript: Transcript, *, by_agent: bool) -> list[str]:
    """What one side wrote before the conversation."""
    return [one.text for one in transcript.history if one.by_agent is by_agent]


def _is_in(quote: str, text: str) -> bool:
    return isinstance(Sources({1: (text,)}).locate(quote, 1), Located)


def _asks_for(question: str, reply: str, fact: str) -> bool:
    """Whether the words may ask for the fact: they are in a question, or have a telling word of the fact."""
    question = question.strip()
    start = reply.lower().find(question.lower())
    # A quote may stop before the question mark, but a mark behind another sentence is not its own.
    end = _SENTENCE_END.search(reply, start + len(question)) if start >= 0 else None
    asked = question + (end.group() if end else "")
    return any(mark in asked for mark in _QUESTION_MARKS) or bool(_telling(question) & _telling(fact))


def _telling(text: str) -> set[str]:
    """What two texts about one thing share: numbers, longer words, pairs of letters that have no spaces."""
    found = tokens(text)
    words = {word for word in found if len(word) >= _TELLING or word.isdigit()}
    return words | {pair for word in found for pair in _SPACELESS_PAIR.findall(word)}


def _short(text: str) -> str:
    return shorten(one_line(text), _QUOTE)
