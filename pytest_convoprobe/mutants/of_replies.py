"""Mutants for the checks by code of what the agent says. Code finds out which of them it breaks."""

from __future__ import annotations

from collections.abc import Iterator

from ..result import ScenarioResult
from ..scenario.models import ReplyCheck, Scenario
from ..scenario.reply_checks import texts_of
from ..transcript import Transcript
from .of_prohibitions import MORE
from .of_words import REFUSAL, with_last_words, with_replies
from .types import ChangedTalk, MutantKind


def changes_of_replies(result: ScenarioResult, scenario: Scenario) -> Iterator[ChangedTalk]:
    """The agent refuses in every turn, and it says each of the words that a check forbids."""
    checks, transcript = scenario.evaluation.replies, result.transcript
    if checks:
        refused = with_replies(transcript, {turn.number: REFUSAL for turn in transcript.turns})
        yield ChangedTalk(MutantKind.REFUSAL, refused, {}, REFUSAL, transcript.turns[0].number)
    most = scenario.evaluation.efficiency.max_conversation_turns
    for check in checks:
        for words in texts_of(check.not_contains):
            changed, turn = _saying(words, check, transcript, most)
            yield ChangedTalk(MutantKind.FORBIDDEN_WORDS, changed, {}, words, turn)


def _saying(
    words: str, check: ReplyCheck, transcript: Transcript, most: int | None
) -> tuple[Transcript, int]:
    """The conversation with these words in a reply that the check is about, and the turn of that."""
    if not isinstance(check.turns, tuple):
        changed = with_last_words(transcript, words, most, asked=MORE)
        return changed, changed.turns[-1].number
    replies = {turn.number: turn.reply.text for turn in transcript.turns}
    number = check.turns[0]
    return with_replies(transcript, {number: f"{replies.get(number, '')}\n\n{words}"}), number
