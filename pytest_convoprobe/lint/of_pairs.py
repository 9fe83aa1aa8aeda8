"""Rules on sentences beside each other: said twice, or against each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ..judging.types import CriterionKind
from .finding import Fault
from .of_call_lists import impossible_lists
from .of_conditions import impossible_conditions
from .of_faults import impossible_faults
from .of_tools import impossible_calls
from .subject import Sentence, Subject
from .words import core_of, is_negated


def duplicate(subject: Subject) -> Iterator[Fault]:
    """Two criteria that ask the same: a fault counts twice in the score, and costs twice."""
    for one, other in _alike(subject):
        if _forbids(one) is _forbids(other):
            yield Fault(
                other.loc,
                f"{other.criterion.id} says the same as {one.criterion.id}",
                "Take one of them out.",
            )


def contradiction(subject: Subject) -> Iterator[Fault]:
    """Sentences or limits that no agent can satisfy together."""
    for one, other in _alike(subject):
        if _forbids(one) is not _forbids(other):
            yield Fault(
                other.loc,
                f"{other.criterion.id} forbids what {one.criterion.id} asks for, or the other way round",
                "No agent can satisfy both. Take one of them out.",
            )
    yield from _opposites(subject)
    yield from _facts(subject)
    yield from impossible_calls(subject)
    yield from impossible_lists(subject)
    yield from impossible_faults(subject)
    yield from impossible_conditions(subject)


def _alike(subject: Subject) -> Iterator[tuple[Sentence, Sentence]]:
    for one, other in combinations(subject.sentences, 2):
        same_tool = one.criterion.tool == other.criterion.tool
        if same_tool and core_of(one.text) and core_of(one.text) == core_of(other.text):
            yield one, other


def _forbids(sentence: Sentence) -> bool:
    """Whether the deed that it names must not happen: by its list, or by a negation, but not by both."""
    return (sentence.kind is CriterionKind.FAILURE) is not is_negated(sentence.text)


def _opposites(subject: Subject) -> Iterator[Fault]:
    for sentence in subject.sentences:
        opposite = sentence.criterion.opposite
        same = opposite is not None and core_of(opposite) == core_of(sentence.text)
        if opposite is not None and same and is_negated(opposite) is is_negated(sentence.text):
            yield Fault(
                sentence.loc,
                f"the opposite of {sentence.criterion.id} says the same as its text",
                "Write a sentence that is true where the text is not.",
            )


def _facts(subject: Subject) -> Iterator[Fault]:
    behavior = subject.scenario.synthetic_user.clarification_behavior
    known = {core_of(fact) for fact in behavior.known_facts}
    for index, fact in enumerate(behavior.unknown_facts):
        if core_of(fact) and core_of(fact) in known:
            loc = ("synthetic_user", "clarification_behavior", "unknown_facts", index)
            yield Fault(
                loc, "the user knows this and doesn't know it", "Take it out of one of the two lists."
            )
