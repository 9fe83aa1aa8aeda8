"""promptfoo's assertions that a model decides, or that compare with a reference: criteria for the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...text import has_words
from ..building import ScenarioBuilder
from ..sentences import agrees_with, says_the_same
from .foreign_check import ForeignCheck, Taker
from .templates import as_text

_SCORE = "the judge says yes or no, and promptfoo compared a score with a threshold"
_LIKENESS = "the judge decides whether it means the same, and promptfoo measured how alike the texts are"
_ITS_WORDS = "the judge decides by a sentence that stands for promptfoo's own prompt"


def _texts(value: Any) -> list[str]:
    """The sentences of a value: a text, or a list of texts."""
    found = value if isinstance(value, list) else [value]
    return [text for one in found if one is not None and has_words(text := as_text(one))]


def _add(sentences: Iterable[str], one: ForeignCheck, builder: ScenarioBuilder) -> bool:
    """Add criteria; False, and a note, if there is none."""
    added = False
    for sentence in sentences:
        (builder.must_not if one.negated else builder.must)(sentence)
        added = True
    if not added:
        builder.lost(one.loc, one.kind, "it has no `value`, so it says nothing")
    return added


def _rubric(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    """The words of the suite's author: the judge decides by the same sentence."""
    if not _add(_texts(one.value), one, builder):
        return
    if one.threshold is None:
        builder.taken()
    else:
        builder.changed(one.loc, f"threshold of {one.kind}", _SCORE)


def _as(sentence: Callable[[str], str], why: str) -> Taker:
    def take(one: ForeignCheck, builder: ScenarioBuilder) -> None:
        if _add(map(sentence, _texts(one.value)), one, builder):
            builder.changed(one.loc, one.kind, why)

    return take


def _fixed(sentence: str) -> Taker:
    def take(one: ForeignCheck, builder: ScenarioBuilder) -> None:
        _add([sentence], one, builder)
        builder.changed(one.loc, one.kind, _ITS_WORDS)

    return take


def _nearest(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    """A reference, or several, one of which is enough."""
    texts = _texts(one.value)
    sentence = says_the_same(texts) if texts else ""
    if _add([sentence] if sentence else [], one, builder):
        builder.changed(one.loc, one.kind, _LIKENESS)


JUDGED: dict[str, Taker] = {
    "llm-rubric": _rubric,
    "agent-rubric": _rubric,
    "search-rubric": _rubric,
    "research-rubric": _rubric,
    "model-graded-closedqa": _rubric,
    "trajectory:goal-success": _rubric,
    "g-eval": _as(str, _SCORE),
    "factuality": _as(agrees_with, _ITS_WORDS),
    "model-graded-factuality": _as(agrees_with, _ITS_WORDS),
    "answer-relevance": _fixed("The agent's answers are about what the user asks"),
    "conversation-relevance": _fixed("Each answer of the agent is about what the user has just said"),
    "is-refusal": _fixed("The agent refuses to do what the user asks for"),
    **dict.fromkeys(
        (
            "similar similar:cosine similar:dot similar:euclidean levenshtein rouge-n rouge-l rouge-s "
            "bleu gleu meteor"
        ).split(),
        _nearest,
    ),
}
