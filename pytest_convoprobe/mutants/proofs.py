"""Where the evidence of a verdict is: what a mutant takes away must be what proved the criterion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..conversation.suspicion import is_english
from ..judging.criteria import criteria_of
from ..judging.evidence import Located, Sources
from ..judging.transcript_view import call_line
from ..judging.types import About, Criterion, CriterionKind, CriterionResult, Shows
from ..result import ScenarioResult
from ..scenario.models import Scenario
from ..transcript import ToolCall, Transcript
from .anchors import anchors_of, is_alike, is_named_in, names_all

_SPEAKS = re.compile(
    r"\b(?:says?|tells?|states?|confirms?|informs?|explains?|mentions?|reports?|announces?|names?|asks?|answers?"
    r"|offers?|greets?|apologi[sz]es?|describes?|warns?|reminds?|repeats?|summari[sz]es?|suggests?|recommends?"
    r"|promises?|quotes?|lists?|repl(?:y|ies)|responds?|thanks?|claims?|admits?|acknowledges?|points? out)\b",
    re.IGNORECASE,
)


_NEGATED = re.compile(r"\b(?:not|never|no|without|cannot)\b|n't\b", re.IGNORECASE)


@dataclass(frozen=True)
class Proof:
    """A criterion that held, and the words of the agent that show it.

    `criterion` is that of today's scenario. `turns` are all turns whose replies show it: without these the
    conversation doesn't. `sentence` is the one with the quote, in turn `turn`.
    """

    criterion: Criterion
    quote: str
    turn: int
    turns: tuple[int, ...]
    anchors: frozenset[str]
    sentence: str


@dataclass(frozen=True)
class CallProof:
    """A criterion that held, and the tool whose calls show it."""

    criterion: Criterion
    quote: str
    tool: str


def criteria_that_held(
    result: ScenarioResult, scenario: Scenario
) -> Iterator[tuple[Criterion, CriterionResult]]:
    """Today's criteria that held in a stored verdict, with the verdict."""
    # By their words: the ids move when a criterion is put in or taken out.
    stored = {(one.criterion.kind, one.criterion.text): one for one in result.criteria}
    for criterion in criteria_of(scenario.evaluation):
        found = stored.get((criterion.kind, criterion.text))
        if found is not None and found.holds is True:
            yield criterion, found


def proofs(result: ScenarioResult, scenario: Scenario) -> Iterator[Proof]:
    """The criteria of which it is certain that words of the agent alone show them, and which words."""
    for criterion, found in criteria_that_held(result, scenario):
        if criterion.kind is CriterionKind.CORRECTNESS and _by_words(criterion, found, result.transcript):
            yield from _proof(criterion, found, result.transcript)


def call_proofs(result: ScenarioResult, scenario: Scenario) -> Iterator[CallProof]:
    """The criteria that are shown by the calls of one tool."""
    for criterion, found in criteria_that_held(result, scenario):
        quote = found.quote or ""
        if _shows(criterion, found) is Shows.ABSENCE or not quote or criterion.kind is CriterionKind.FAILURE:
            continue
        tools = _tools_that_show(criterion, found, quote, result.transcript)
        # What two tools show is not gone with one of them.
        if len(tools) == 1:
            yield CallProof(criterion, quote, tools.pop())


def _tools_that_show(
    criterion: Criterion, found: CriterionResult, quote: str, transcript: Transcript
) -> set[str]:
    calls = [call for _, call in transcript.tool_calls]
    quoted = {call.name for call in calls if _in_call(quote, call)}
    if criterion.kind is CriterionKind.TOOL or _about(criterion, found) is About.TOOL:
        return quoted
    if _about(criterion, found) is not About.AGENT or not _is_deed(criterion.text):
        return set()
    # "The agent cancels the order" is no longer true without a call of `cancel_order`, whatever it says.
    return {call.name for call in calls if is_named_in(call.name, criterion.text)}


def _is_deed(criterion: str) -> bool:
    return is_english(criterion) and not _SPEAKS.search(criterion) and not _NEGATED.search(criterion)


def _by_words(criterion: Criterion, found: CriterionResult, transcript: Transcript) -> bool:
    if _shows(criterion, found) is Shows.ABSENCE or not found.quote:
        return False
    about = _about(criterion, found)
    if about is About.AGENT:
        # The agent's deeds stay: "The agent cancels the order" is still true where it says nothing of it.
        return not transcript.tool_calls or (
            is_english(criterion.text) and _SPEAKS.search(criterion.text) is not None
        )
    # A call, or the user's own words, may show it too, and both stay as they are.
    said = any(is_said(found.quote, turn.user) for turn in transcript.turns)
    return about in (None, About.ANY) and not transcript.tool_calls and not said


def _about(criterion: Criterion, found: CriterionResult) -> About | None:
    return criterion.about or found.criterion.about


def _shows(criterion: Criterion, found: CriterionResult) -> Shows | None:
    return criterion.shows or found.criterion.shows


def _proof(criterion: Criterion, found: CriterionResult, transcript: Transcript) -> Iterator[Proof]:
    quotes = [found.quote, *(vote.quote for vote in found.votes if vote.holds is True)]
    said = [quote for quote in quotes if quote]
    anchors = frozenset[str]().union(*(anchors_of(criterion.text, quote) for quote in said))
    replies = [(turn.number, turn.reply.text) for turn in transcript.turns]
    first = [number for number, text in replies if is_said(said[0], text)]
    if not anchors or not first:
        return
    turns = tuple(number for number, text in replies if _shows_it(said, anchors, text))
    turn = found.turn if found.turn in first else first[0]
    sentence = sentence_with(said[0], dict(replies)[turn])
    yield Proof(criterion, said[0], turn, turns, anchors, sentence)


def _shows_it(quotes: Sequence[str], anchors: frozenset[str], text: str) -> bool:
    """Whether a reply has one of the quotes, or says the same in other words."""
    return names_all(anchors, text) or any(is_said(quote, text) or is_alike(quote, text) for quote in quotes)


def is_said(quote: str, text: str) -> bool:
    """Whether a text has the quote, by the rules that the judge's quotes are looked up with."""
    return isinstance(Sources({1: (text,)}).locate(quote, 1), Located)


def _in_call(quote: str, call: ToolCall) -> bool:
    texts = (call_line(call), str(call.result or ""), call.error or "")
    return any(is_said(quote, text) for text in texts)


def sentence_with(quote: str, text: str) -> str:
    """The line of a reply with a quote, or the quote itself where it goes over several."""
    return next((line.strip() for line in text.splitlines() if is_said(quote, line)), quote.strip())
