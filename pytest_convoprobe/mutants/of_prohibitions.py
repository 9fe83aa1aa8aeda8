"""Mutants in which the agent says what a criterion forbids, where English grammar tells the words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..judging.types import About, Criterion, CriterionKind
from ..result import ScenarioResult
from ..scenario.models import Scenario
from .of_words import with_last_words
from .proofs import criteria_that_held
from .types import ChangedTalk, MutantKind

MORE = "Is there anything else?"

_AGENT = r"(?:the\s+)?(?:agent|assistant|bot|chatbot)"
_USER = r"(?:the\s+)?(?:user|customer|client|caller)"
_NOT = r"(?P<negation>(?:never|does\s+not|doesn't|must\s+not|should\s+not|must\s+never)\s+)?"
_FORMS = (
    (
        re.compile(
            rf"^\s*{_AGENT}\s+{_NOT}(?:says?|claims?|states?|confirms?|pretends?|asserts?|tells?\s+{_USER}"
            rf"|promises?(?:\s+{_USER})?|announces?)\s+(?:to\s+{_USER}\s+)?that\s+(?P<what>.+?)\s*\.?\s*$",
            re.IGNORECASE,
        ),
        "{}.",
    ),
    (
        re.compile(
            rf"^\s*{_AGENT}\s+{_NOT}asks?\s+(?:{_USER}\s+)?for\s+(?P<what>.+?)\s*\.?\s*$", re.IGNORECASE
        ),
        "Please give me {}.",
    ),
    (
        re.compile(
            rf"^\s*{_AGENT}\s+{_NOT}offers?\s+(?:{_USER}\s+)?(?P<what>an?\s+.+?)\s*\.?\s*$", re.IGNORECASE
        ),
        "I can offer you {}.",
    ),
)
_CONDITION = re.compile(
    # "says that it is cancelled before it has checked" isn't broken by the words alone.
    r"\b(?:before|after|without|unless|until|when|while|if|although|despite|instead|more\s+than|at\s+(?:least|most)"
    r"|only|first|again|twice|once|or|other|another|any|not|no|never|cannot)\b|n't\b",
    re.IGNORECASE,
)
_ITSELF = re.compile(r"^(?:it|he|she)\s+(?P<verb>is|has|was|can|will|could|would)\b", re.IGNORECASE)
_FIRST_PERSON = {"is": "am", "has": "have"}
_PRONOUN = re.compile(r"\b(?:it|its|they|this|that|these|those|he|she)\b", re.IGNORECASE)
_USERS = re.compile(rf"\b(?:{_USER}'s|their|his|her)\b", re.IGNORECASE)


def changes_of_prohibitions(result: ScenarioResult, scenario: Scenario) -> Iterator[ChangedTalk]:
    """A change for each criterion that forbids certain words and held: the agent says them at the end."""
    most = scenario.evaluation.efficiency.max_conversation_turns
    for criterion, found in criteria_that_held(result, scenario):
        about = criterion.about or found.criterion.about
        words = forbidden_words(criterion) if about in (None, About.AGENT) else None
        if words:
            changed = with_last_words(result.transcript, words, most, asked=MORE)
            claims = {criterion.id: "the agent said what the criterion forbids"}
            number = changed.turns[-1].number
            yield ChangedTalk(MutantKind.FORBIDDEN_WORDS, changed, claims, words, number)


def forbidden_words(criterion: Criterion) -> str | None:
    """Words that break a criterion for certain; None where nobody can be sure."""
    for form, sentence in _FORMS:
        found = form.match(criterion.text)
        if found is None or criterion.kind is CriterionKind.TOOL:
            continue
        forbids = (criterion.kind is CriterionKind.FAILURE) is not bool(found["negation"])
        return _said(found["what"], sentence) if forbids and not _CONDITION.search(found["what"]) else None
    return None


def _said(what: str, sentence: str) -> str | None:
    """The words of the agent itself: of `it has cancelled the order`, `I have cancelled the order.`"""
    own = _ITSELF.match(what)
    if own:
        verb = own["verb"].lower()
        what = f"I {_FIRST_PERSON.get(verb, verb)}{what[own.end() :]}"
    what = _USERS.sub("your", what)
    if _PRONOUN.search(what):
        return None  # what it means is in a sentence that isn't there
    words = sentence.format(what)
    return words[:1].upper() + words[1:]
